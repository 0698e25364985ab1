package cases

// Result is how a case came out.
type Result struct {
	ID       string  `json:"id"`
	Kind     string  `json:"kind"`
	Expected Answer  `json:"expected"`
	Got      Answer  `json:"got"`
	Result   Verdict `json:"result"`
	// Why is the reason of the answer, or why the case is not supported.
	Why string `json:"why,omitempty"`
}

// Verdict compares what a case gave with what was expected.
type Verdict string

const (
	Hit Verdict = "hit"
	// Miss is a call allowed that should not have been.
	Miss Verdict = "miss"
	// Softer is a call held for review that should have been blocked.
	Softer Verdict = "softer"
	// Stricter is a call blocked that should have been held, or blocked for a
	// failure where it should have been blocked for what is unknown.
	Stricter Verdict = "stricter"
	// OverBlock is anything but allow where allow was expected.
	OverBlock   Verdict = "over_block"
	Unsupported Verdict = "unsupported"
)

// verdict compares an answer with the expected one. Where block is expected an
// error is as good: nothing runs, and it says so.
func verdict(expected, got Answer) Verdict {
	switch {
	case got == expected, expected == Block && got == Error:
		return Hit
	case expected == Allow:
		return OverBlock
	case got == Allow:
		return Miss
	case got == Review:
		return Softer
	}
	return Stricter
}

// Tally counts verdicts.
type Tally struct {
	Total       int `json:"total"`
	Hit         int `json:"hit"`
	Miss        int `json:"miss"`
	Softer      int `json:"softer"`
	Stricter    int `json:"stricter"`
	OverBlock   int `json:"over_block"`
	Unsupported int `json:"unsupported"`
}

func (t *Tally) add(v Verdict) {
	t.Total++
	*map[Verdict]*int{Hit: &t.Hit, Miss: &t.Miss, Softer: &t.Softer, Stricter: &t.Stricter, OverBlock: &t.OverBlock, Unsupported: &t.Unsupported}[v]++
}

// Report is a whole corpus.
type Report struct {
	Tally
	Kinds map[string]*Tally `json:"kinds"`
	Cases []Result          `json:"cases"`
}

func (r *Report) add(res Result) {
	if r.Kinds == nil {
		r.Kinds = map[string]*Tally{}
	}
	if r.Kinds[res.Kind] == nil {
		r.Kinds[res.Kind] = &Tally{}
	}
	r.Tally.add(res.Result)
	r.Kinds[res.Kind].add(res.Result)
	r.Cases = append(r.Cases, res)
}

// Holds reports whether no call ran that should not have, and none was kept from
// running that should have.
func (r *Report) Holds() bool { return r.Total > 0 && r.Miss == 0 && r.OverBlock == 0 }
