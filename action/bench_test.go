package action

import "testing"

// example is the action of the design's section 14, 500 bytes.
const example = `{"trace_id":"INC-5012","call_id":"INC-5012:c2","agent":{"id":"itsm-agent","component":"planner@3"},
 "tool":"deprovision_account","arguments":{"account":"acme\\jdoe"},"confidence":0.94,
 "critic":{"score":0.91,"component":"critic@1"},
 "context":{"target_entity":"acme\\jdoe","source_record":"INC-5012","retrieved_context":["kb-12"]},
 "origins":{"/account":"tool_result"},
 "plan":{"steps":[{"id":"s1","tool":"rotate_key","arguments":{},"precondition":"","postcondition":"key-rotated",
                   "assertion":"","forward_effects":1,"rollback_effects":1}]}}`

func BenchmarkDecode(b *testing.B) {
	doc := []byte(example)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(doc); err != nil {
			b.Fatal(err)
		}
	}
}
