package bundle
import ("testing";"fmt"
"github.com/conjunct-project/conjunct/engine")
func TestProbe(t *testing.T) {
	b := load(t, with(small(t), "conjunct/authority/data.yaml", "may: true\n"))
	fmt.Println(b.May(t.Context(), engine.AuthorityRequest{Op: engine.OpReview}))
	floor := func(body string) Files {
		return with(small(t), floorsFile, "package conjunct.floors\n\nfloors contains {\"name\": \"f\", \"tier\": \"refuse\"} if {\n\t"+body+"\n}\n")
	}
	for _, body := range []string{`p := "reversability"; input.consequence[p] == "irreversible"`, `some k, v in input.consequence; k == "reversability"; v == "irreversible"`, `lower(input.consequence.reversibility) == "ireversible"`, `regex.match("^emial", input.action.tool)`} {
		b := load(t, floor(body))
		d := engine.Decide(t.Context(), b, inputOf(b, propose(t, "look", `{"query":"x"}`)))
		n, tot, o := b.Native()
		fmt.Println(body, d.Floors, n, tot, o)
	}
	b = load(t, with(small(t), "conjunct/floors/data.yaml", "floors: [{name: f, tier: refuse}]\n", floorsFile, "package conjunct.floors\n\n# METADATA\n# title: x\nfloors contains {\"name\": \"g\", \"tier\": \"refuse\"} if input.action.tool == \"pay\"\n"))
	d := engine.Decide(t.Context(), b, inputOf(b, propose(t, "pay", `{"to":"x","amount":1}`)))
	fmt.Printf("%+v %v\n", d.Floors, d.Reasons)
}
