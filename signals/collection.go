package signals

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// collection says which files are tests, and which of them a runner collects.
type collection struct{ collect, ignore []string }

// collects reads what a scope says of tests.
func collects(s TestScope) (c collection, problems []ScopeProblem) {
	read := func(field string, globs []string) {
		for i, g := range globs {
			if g == "" || !doublestar.ValidatePattern(g) {
				problems = append(problems, ScopeProblem{Path: []string{"tests", field, fmt.Sprint(i)}, Message: fmt.Sprintf("%q is no glob", g)})
			}
		}
	}
	read("collect", s.Collect)
	read("ignore", s.Ignore)
	return collection{s.Collect, s.Ignore}, problems
}

// usual are the names by which runners find tests, where the scope does not say.
var usual = map[ecosystem]rarePattern{
	goTests:     rare(`(?:^|/)[^/._][^/]*_test\.go$`),
	pythonTests: rare(`(?:^|/)(?:test_[^/]*|[^/]*_test|tests)\.py$`),
	javaTests:   rare(`(?:^|/)(?:Test[^/]*|[^/]*(?:Tests?|TestCase|IT|Spec))\.(?:java|kt|kts|groovy|scala)$`),
	jsTests:     rare(`(?:\.(?:test|spec|cy|e2e|e2e-spec)\.[cm]?[jt]sx?|(?:^|/)__tests__/.*\.[cm]?[jt]sx?|(?:^|/)(?:test|tests|spec)/.*\.[cm]?[jt]sx?|(?:^|/)test\.[cm]?js)$`),
	rubyTests:   rare(`(?:^|/)(?:[^/]*_(?:spec|test)|test_[^/]*)\.rb$`),
	csharpTests: rare(`(?:^|/)(?:[^/]*(?:Tests?|Spec|Fixture)\.cs|(?:[^/]*\.)?(?:[Tt]ests?|[^/]*Tests)/.*\.cs)$`),
	phpTests:    rare(`(?:^|/)[^/]*Test\.php$`),
	swiftTests:  rare(`(?:^|/)(?:[^/]*Tests?\.swift|[^/]*Tests/.*\.swift)$`),
	cppTests:    rare(`(?:^|/)(?:(?:test_[^/]*|[^/]*[_.-](?:unit|g)?tests?|[^/]*Tests?)\.(?:c|cc|cpp|cxx|mm)|(?:unit_?)?tests?/.*\.(?:c|cc|cpp|cxx|mm))$`),
	dartTests:   rare(`_test\.dart$`),
	elixirTests: rare(`_test\.exs$`),
	shellTests:  rare(`(?:^|/)(?:[^/]*\.bats|(?:test_[^/]*|[^/]*_test|tests?)\.(?:sh|bash))$`),
	rustTests:   rare(`(?:^|/)(?:tests/[^/]*|tests?|[^/]*_tests?)\.rs$`),
}

var extensions = map[string]ecosystem{
	".go": goTests, ".py": pythonTests, ".java": javaTests, ".kt": javaTests, ".kts": javaTests, ".groovy": javaTests, ".scala": javaTests,
	".js": jsTests, ".ts": jsTests, ".jsx": jsTests, ".tsx": jsTests, ".mjs": jsTests, ".cjs": jsTests, ".mts": jsTests, ".cts": jsTests,
	".rb": rubyTests, ".rs": rustTests, ".cs": csharpTests, ".php": phpTests, ".swift": swiftTests, ".dart": dartTests, ".exs": elixirTests,
	".c": cppTests, ".cc": cppTests, ".cpp": cppTests, ".cxx": cppTests, ".mm": cppTests, ".bats": shellTests, ".sh": shellTests, ".bash": shellTests,
}

// nearTests are files that decide what tests do without being tests.
var nearTests = rare(`(?:^|/)(?:conftest\.py|spec_helper\.rb|rails_helper\.rb|test_helper\.rb|(?:jest|vitest)\.setup\.[jt]s|setupTests\.[jt]s|src/test/.*\.(?:java|kt|groovy|scala))$`)

var (
	pipelines = rare(`(?i)(?:^|/)(?:\.github/(?:workflows|actions)/.*\.ya?ml|\.gitlab-ci(?:\.[^/]*)?\.ya?ml|\.gitlab/.*\.ya?ml|Jenkinsfile[^/]*|\.circleci/.*\.ya?ml|azure-pipelines[^/]*\.ya?ml|\.azure-pipelines/.*\.ya?ml|\.travis\.ya?ml|bitbucket-pipelines\.ya?ml|\.drone\.ya?ml|\.woodpecker[^/]*(?:/.*)?\.ya?ml|\.buildkite/.*|appveyor\.ya?ml|\.cirrus\.ya?ml|cloudbuild\.ya?ml|Makefile|GNUmakefile|justfile|Taskfile\.ya?ml|Rakefile|\.pre-commit-config\.yaml|\.husky/[^/]+|lefthook\.ya?ml)$`)
	settings  = rare(`(?i)(?:^|/)(?:package\.json|jest\.config\.[^/]+|vite(?:st)?\.config\.[^/]+|vitest\.workspace\.[^/]+|karma\.conf\.[^/]+|\.mocharc[^/]*|\.nycrc[^/]*|\.c8rc[^/]*|playwright\.config\.[^/]+|cypress\.config\.[^/]+|pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py|\.coveragerc|\.?codecov\.ya?ml|\.coveralls\.ya?ml|\.simplecov|\.rspec|pom\.xml|build\.gradle(?:\.kts)?|gradle\.properties|Cargo\.toml|tarpaulin\.toml|stryker\.conf[^/]*|sonar-project\.properties|\.testcoverage\.ya?ml)$`)
	// snapshotFile is what a runner wrote down that tests expect, and writes anew
	// where it is gone.
	snapshotFile = rare(`(?:^|/)(?:[^/]+\.(?:snap|ambr|approved\.\w+)|__snapshots__/.+|__image_snapshots__/.+)$`)
	goUnseen     = rare(`(?:^|/)(?:testdata|vendor|_[^/]*|\.[^/]+)/`)
	goOS         = rare(`_(?:linux|darwin|windows|freebsd|netbsd|openbsd|plan9|solaris|aix|js|wasip1|android|ios|illumos|dragonfly|amd64|arm64|arm|386|ppc64le|ppc64|riscv64|s390x|mips\w*|wasm|loong64)(?:_[a-z0-9]+)?_test\.go$`)
	javaMain     = rare(`(?:^|/)src/main/`)
	jsUnseen     = rare(`(?:^|/)node_modules/`)
	testFolder   = rare(`(?i)(?:^|/)(?:tests?|specs?|__tests__|testing|e2e)(?:/|$)`)
)

// test is the ecosystem of a file that holds tests, by its name.
func (c collection) test(file string) (ecosystem, bool) {
	e, known := extensions[path.Ext(file)]
	if !known {
		return "", false
	}
	if usual[e].MatchString(file) || nearTests.MatchString(file) || matchesFile(c.collect, file) {
		return e, true
	}
	return e, false
}

// collected reports whether a runner finds the tests in a file. What the scope
// says of an ecosystem's files stands for the usual names of that ecosystem.
func (c collection) collected(file string) bool {
	e, known := extensions[path.Ext(file)]
	said := slices.ContainsFunc(c.collect, func(g string) bool { return path.Ext(g) == path.Ext(file) || path.Ext(g) == "" || !known })
	switch {
	case c.ignored(file):
		return false
	case said:
		return matchesFile(c.collect, file)
	case !known, e == javaTests && javaMain.MatchString(file), e == goTests && goUnseen.MatchString(file), e == jsTests && jsUnseen.MatchString(file):
		return false
	}
	return usual[e].MatchString(file)
}

// ignored reports whether a file, or a directory above it, is left out.
func (c collection) ignored(file string) bool {
	for file = strings.Trim(file, "/"); file != "." && file != ""; file = path.Dir(file) {
		if matchesFile(c.ignore, file) {
			return true
		}
	}
	return false
}

// matchesFile matches globs: one without a separator with the last part of a
// name, another with the whole name or what ends it.
func matchesFile(globs []string, file string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		g = strings.TrimSuffix(strings.TrimPrefix(g, "./"), "/")
		if !strings.Contains(g, "/") {
			return match(g, path.Base(file))
		}
		return match(g, file) || match("**/"+strings.TrimPrefix(g, "/"), file)
	})
}

func match(glob, name string) bool {
	ok, err := doublestar.Match(glob, name)
	return ok && err == nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
