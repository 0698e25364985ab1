package cli

import (
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/cel"
	"github.com/conjunct-project/conjunct/rego"
)

// release is the version of Conjunct.
const release = "0.1.0"

// versions is what `version` prints.
type versions struct {
	Conjunct string         `json:"conjunct"`
	Go       string         `json:"go"`
	OPA      string         `json:"opa"`
	CEL      string         `json:"cel_go"`
	Bundle   *bundleVersion `json:"bundle,omitempty"`
}

type bundleVersion struct {
	Revision string `json:"revision"`
	Digest   string `json:"digest"`
	// Floors that run without OPA, of all.
	Native int `json:"native_floors"`
	Floors int `json:"floors"`
}

func versionCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the versions of Conjunct, Go, OPA, cel-go and of a bundle",
		Flags: []cli.Flag{bundleFlag("Without it no bundle is looked at"), formatFlag("pretty", "json")},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			v, err := readVersions(c)
			if err != nil {
				return err
			}
			return printVersions(env, c.String("format"), v)
		},
	}
}

func readVersions(c *cli.Context) (versions, error) {
	v := versions{Conjunct: release, Go: runtime.Version(),
		OPA: rego.Version(), CEL: cel.Version()}
	if !c.IsSet("bundle") {
		return v, nil
	}
	b, err := loadBundle(c)
	if err != nil {
		return v, err
	}
	native, total, _ := b.Native()
	v.Bundle = &bundleVersion{Revision: b.Bundle().Revision, Digest: b.Bundle().Digest, Native: native, Floors: total}
	return v, nil
}

func printVersions(env *Env, format string, v versions) error {
	if format == "json" {
		return newEncoder(env.Stdout).Encode(v)
	}
	p := &painter{w: env.Stdout}
	p.field("conjunct", v.Conjunct)
	p.field("go", v.Go)
	p.field("opa", v.OPA)
	p.field("cel-go", v.CEL)
	if v.Bundle != nil {
		p.field("bundle", v.Bundle.Revision)
		p.field("digest", v.Bundle.Digest)
		p.field("floors", fmt.Sprintf("%d, of which %d run without OPA", v.Bundle.Floors, v.Bundle.Native))
	}
	return p.err
}
