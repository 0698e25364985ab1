package engine

// State is what is known, at the moment of a decision, about the path of one
// action: the same content (call hash) in the same trace. It is a value, read
// from a View beforehand, so that a decision depends on nothing else. The zero
// value knows nothing, and nothing is proved by nothing.
type State struct {
	// Settings are the facts the contract names, as they stand now.
	Settings map[string]any
	// Pins are the current versions, trace pins and path pins together.
	Pins map[string]string
	// Evidence holds the records that no moved pin has voided, by name.
	Evidence map[string]Evidence
	// Counters are the sums and counts of the windows the contract names.
	Counters map[string]float64
	// Path is the record of this path; the zero value has never been seen.
	Path Path
	// Rejection is the standing rejection of this call, under whatever id and
	// trace, or nil.
	Rejection *Rejection
	// Queue is the number of current requests of other calls, where the
	// contract counts them.
	Queue int
	// Entities holds, of what the call of a tool under a critic names, what is
	// recorded as approved for the tool or as taken back.
	Entities map[Entity]bool
	// Suspect lists the suspect items that this call holds.
	Suspect []Item
}

// Evidence is one versioned record of something known.
type Evidence struct {
	Name    string            `json:"name"`
	Status  Verdict           `json:"status"`
	Source  string            `json:"source,omitempty"`
	Pins    map[string]string `json:"pins,omitempty"`
	Time    int64             `json:"time"`
	Expires *int64            `json:"expires,omitempty"`
	By      string            `json:"by,omitempty"`
	// Call is the call hash of the path that the record is about; empty for a
	// record of the whole trace.
	Call string `json:"call,omitempty"`
	Seq  uint64 `json:"seq"`
}

// Path is the state of one path.
type Path struct {
	Agent     Agent             // who proposed it last
	CallID    string            // under which id
	Tool      string            // which tool it calls
	Canonical []byte            // the action as it was hashed, opaque here
	Pins      map[string]string // its own pins
	Request   *Request
	Approval  *Approval // granted by enough reviewers; nil until then
	Failure   *Failure  // an unresolved failure; nil when there is none
	Retries   int       // spent so far
	Reported  bool      // whether a result of the release came
	Runs      int       // releases that were not reported as not run
	Released  uint64    // seq of the entry that released the call; 0 if none stands
	ChangedAt uint64    // seq of the last real change of one of its own pins

	First   uint64 // seq of the first proposal
	FirstID string // the id of the first proposal
	Time    int64  // when it was proposed last
	Ran     uint64 // seq of the first release that was not reported as not run; 0: none
	// Same is what a rejection of the call binds, opaque here.
	Same string
	// Holds is what the call is built on, each value once. It must not be changed.
	Holds []Item
	// Facts and FactsHash are what the last proposal was decided on, opaque here.
	Facts     []byte
	FactsHash string
	// Redacted marks a call whose arguments the journal does not hold: it cannot be
	// decided again.
	Redacted bool
	// Authority is what the last decision gave the call.
	Authority Granted
	// Flagged is set on a read that holds, or gave, a suspect item.
	Flagged *Flag
	// Pulled is set on a call that was pulled back.
	Pulled *PullBack
}

// Granted is the authority that a decision gives a call. The zero value is the
// strictest.
type Granted struct {
	Outcome  Outcome  `json:"outcome"`
	Tier     Tier     `json:"tier"`
	Boundary Boundary `json:"boundary"`
}

// Flag marks a read.
type Flag struct {
	Rejection uint64
	Items     []Item
	Origin    bool
}

// PullBack is the authority of a call taken back because it was built on what
// has become suspect.
type PullBack struct {
	Seq       uint64
	Rejection uint64  // seq of the rejection or incident behind it
	Call      PathKey // the call that it was of
	By, Code  string
	Items     []Item
	Ran       bool   // it ran before: it is never run again
	Answer    string // what a reviewer answered; empty: it waits
}

// spent reports whether the call ran and was pulled back: it may not run again,
// whatever the answer is.
func (p *PullBack) spent() bool { return p != nil && p.Ran }

// waits reports whether nobody has answered the pull-back of a call that ran.
func (p *PullBack) waits() bool { return p.spent() && p.Answer == "" }

// RequestStatus is where a review request stands. The zero value is not
// pending, so nothing can be approved on it.
type RequestStatus uint8

const (
	NoRequest RequestStatus = iota
	Pending
	Approved
	RejectedRequest
	TimedOut
	Returned
	// What a reviewer answers to a call that ran and was pulled back.
	Confirmed
	Compensated
	Acknowledged
)

var requestStatusNames = names{"none", "pending", "approved", "rejected", "timed_out", "returned", "confirmed", "compensated", "acknowledged"}

func (s RequestStatus) String() string               { return requestStatusNames.text(uint8(s)) }
func (s RequestStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
func (s *RequestStatus) UnmarshalText(b []byte) (err error) {
	*(*uint8)(s), err = requestStatusNames.parse("review outcome", b)
	return err
}

// Request is a review asked for. Its id is its seq.
type Request struct {
	Seq      uint64
	Time     int64
	Expires  *int64 // fixed when made; nil sets no limit
	Status   RequestStatus
	Required int
	// PulledBack marks a request that a re-examination made. It asks for no
	// release, so neither capacity nor time nor a moved pin ends it.
	PulledBack bool
	Gates      []string // own gates that did not pass and that an approval has to name
	Votes      []Vote
	Saw        Versions
}

// Vote is one reviewer's approval.
type Vote struct {
	Reviewer string
	Role     string
	Time     int64
	Gates    []string
	Note     string
	Seq      uint64
}

// Versions is what a reviewer was shown: everything an approval is pinned to.
type Versions struct {
	Facts    string            // hash of the facts
	Bundle   string            // digest
	Pins     map[string]string // every pin the bundle names
	Evidence map[string]uint64 // name to seq of the record seen
	Suspect  []Item
	Novel    []Entity // what the call named that nobody had approved
}

// Approval is a finished review in favour. It releases once unless the
// contract says otherwise.
type Approval struct {
	Request uint64
	Seq     uint64
	Time    int64
	Expires *int64
	Votes   []Vote
	Gates   []string // own gates that every vote names
	Saw     Versions
}

// Rejection is a review against. It binds the same call whatever its id.
type Rejection struct {
	Seq      uint64
	Time     int64
	Trace    string
	Call     string // the call hash that was rejected
	Reviewer string
	Code     string
	Pins     map[string]string // the pins it was made under
	// Before is the rejection of the same call, in another trace, that stood when
	// this one was made; or nil.
	Before *Rejection
}

// Failure is an unresolved failure on a path.
type Failure struct {
	Seq         uint64
	Recoverable bool
}

// Item is one thing a call is built on: where it stood and its value in normal
// form, opaque here. What makes two items one is the value: the same record may be
// a target here and an argument there.
type Item struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// The kinds of items.
const (
	KindTarget    = "target_entity"
	KindRecord    = "source_record"
	KindRetrieved = "retrieved_context"
	KindArgument  = "argument"
	// KindEntity is an entity that an argument took from an earlier result, or that
	// a pulled-back call gave.
	KindEntity = "entity"
	// KindEverything stands, without a value, for a call that holds more than is
	// told apart: it counts as holding every item.
	KindEverything = "everything"
)

// lookup follows a path into the state as policies see it.
func (s *State) lookup(path []string) (any, bool) {
	if len(path) == 0 {
		return s.Document(), true
	}
	switch path[0] {
	case "settings":
		return walk(s.Settings, path[1:])
	case "pins":
		if len(path) == 2 {
			return found(s.Pins, path[1])
		}
	case "evidence":
		if len(path) >= 2 {
			e, ok := s.Evidence[path[1]]
			if !ok {
				return nil, false
			}
			return walk(e.Document(), path[2:])
		}
	case "counters":
		if len(path) == 2 {
			return found(s.Counters, path[1])
		}
	}
	if len(path) == 1 {
		return walk(s.Document(), path)
	}
	return nil, false
}

// found is a value of m, or nil where there is none.
func found[V any](m map[string]V, name string) (any, bool) {
	if v, ok := m[name]; ok {
		return v, true
	}
	return nil, false
}

// Document is the state as policies see it.
func (s *State) Document() map[string]any {
	pins := make(map[string]any, len(s.Pins))
	for k, v := range s.Pins {
		pins[k] = v
	}
	evidence := make(map[string]any, len(s.Evidence))
	for k, e := range s.Evidence {
		evidence[k] = e.Document()
	}
	counters := make(map[string]any, len(s.Counters))
	for k, v := range s.Counters {
		counters[k] = v
	}
	return map[string]any{"settings": object(s.Settings), "pins": pins, "evidence": evidence, "counters": counters}
}

// Document is the record as policies see it.
func (e Evidence) Document() map[string]any {
	doc := map[string]any{"name": e.Name, "status": e.Status.String(), "time": float64(e.Time)}
	if e.Source != "" {
		doc["source"] = e.Source
	}
	if e.Expires != nil {
		doc["expires"] = float64(*e.Expires)
	}
	if len(e.Pins) > 0 {
		pins := make(map[string]any, len(e.Pins))
		for k, v := range e.Pins {
			pins[k] = v
		}
		doc["pins"] = pins
	}
	return doc
}
