package signals

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// What is said in the files of CI systems, and in the configuration of test
// runners, is looked at line by line: these files hold programs in many
// languages.

// sign is a line that keeps a pipeline from failing, or a job from running.
type sign struct {
	name    string
	what    changeKind
	pattern pattern
	sure    bool
}

var signs = []sign{
	{"or true", ciCannotFail, re(`\|\|\s*(?:true\b|:|exit\s+0\b|echo\b|printf\b|/bin/true\b|return\s+0\b|\(\s*exit\s+0|exit\s*$|cat\b|date\b|\{)`), true},
	{"exit 0", ciCannotFail, re(`(?:^|[;&|\s'"-])exit\s+0\b`), true},
	{"; true", ciCannotFail, re(`;\s*(?:true|:)\s*['"]?\s*$`), true},
	{"piped", ciCannotFail, re(`(?:pytest|go test|npm (?:run )?test|cargo test|mvn|gradlew?|rspec|jest|vitest|make test)\b[^|]*[^|]\|\s*(?:tee|cat|grep|tail|head)\b`), false},
	{"set +e", ciCannotFail, re(`\bset\s+(?:\+\w*e|\+o\s+errexit)`), true},
	{"continue on error", ciCannotFail, re(`(?i)continue-?on-?error['"]?\s*:\s*['"]?(?:true|yes|on|\$\{\{)`), true},
	{"allow failure", ciCannotFail, re(`(?i)\b(?:allow_failure|allow_failures|soft_fail|ignore_?failures?|ignore-errors|testFailureIgnore|maven\.test\.failure\.ignore|failOnError|haltOnFailure|returnStatus|ignoreExitStatus|ignore_errors|fail_on_error|fail_ci_if_error)['"]?\s*[:=>]\s*['"]?(?:true|yes|always|\[|\{|$)`), true},
	{"exit codes", ciCannotFail, re(`(?i)\bexit_codes['"]?\s*:`), true},
	{"catch error", ciCannotFail, re(`\bcatchError\b|\bwarnError\b|catch\s*\(`), true},
	{"no tests pass", ciCannotFail, re(`(?i)--?pass-?With-?No-?Tests|passWithNoTests['"]?\s*:\s*true|--suppress-no-test-exit-code|--exit-zero\b|--no-fail\b|--force-success|--no-error-on-unmatched-pattern`), true},
	{"not run", ciCannotFail, re(`-DskipTests|-Dmaven\.test\.skip|skipTests|skipITs|maven\.test\.skip|-x\s+test\b|--no-run\b|--co(?:llect-only\b|[\s'"]|$)|--list-?tests\b|--dry-run\b|-run\s+['"]?\^?\$`), true},
	{"takes what comes", ciCannotFail, re(`\b(?:npm|pnpm|yarn|bun|npx|jest|vitest|playwright|react-scripts)\b.*\s(?:-u|--update(?:-?[sS]napshots?)?)(?:[\s'"]|$)|--snapshot-update\b|--update-?[sS]napshots?\b|\b(?:UPDATE_SNAPSHOTS?|SNAPSHOT_UPDATE|UPDATE_GOLDENS?)=[1-9ty]|\bINSTA_UPDATE=(?:always|1)|--force-update-snapshots\b`), true},
	{"deselected", ciCannotFail, re(`--ignore(?:-glob)?[ =]|--deselect\b|(?:-k|-m)\s+['"]?not\b|-skip[ =]|--skip\b|--exclude\b|testPathIgnorePatterns|modulePathIgnorePatterns|\btestIgnore\b|excludeSpecPattern|--testPathIgnorePatterns|norecursedirs|collect_ignore|exclude_?[tT]ests?|--filter-out|--test-?name-?pattern|--grep\b.*--invert`), true},
	{"short", ciCannotFail, re(`go test\b.*\s-(?:test\.)?short\b`), true},
	{"condition", ciCondition, re(`^\s*(?:-\s+)?['"]?(?:if|when|only|except|unless|condition|rules|branches|branches-ignore|paths|paths-ignore)['"]?\s*:`), true},
	{"false", ciCondition, re(`(?i)\b(?:if|enabled|when)['"]?\s*[:=]\s*['"]?(?:\$\{\{\s*)?(?:false|never|manual|0)\b`), true},
	{"shell condition", ciCondition, re(`\bif\s+(?:\[|test\b|false\b)|\bwhen\s*\{|&&\s*false\b|false\s*&&`), true},
	{"background", ciCannotFail, re(`(?:pytest|test|check|jest|vitest|rspec)\b[^&|;]*[^&|;]&\s*['"]?$`), true},
	{"turned round", ciCannotFail, re(`(?:^|[\s'"-])!\s+(?:pytest|tox|go\s+test|npm|yarn|pnpm|cargo|make|mvn|\./gradlew|rspec|jest|vitest)\b`), true},
	{"not strict", ciCannotFail, re(`(?i)xfail_strict\s*=\s*(?:false|0|no)|--no-strict|--allow-empty`), true},
	{"selected", ciStepRemoved, re(`(?:pytest|go test|jest|vitest|mocha|cargo test|rspec)\b.*\s(?:-k|-m|-run|-t|-e|--testNamePattern|--grep|-g|--only)[ =]`), false},
	{"default shell", ciCannotFail, re(`shell\s*:\s*(?:bash|sh)\s+(?:\+e|\{0\})`), true},
}

var (
	printed     = re(`\b(?:echo|printf)\b[^;&|]*`)
	triggers    = re(`\b(?:pull_request|pull_request_target|push|merge_group|merge_request_event|merge_requests)\b`)
	everything  = re(`\./\.\.\.|--workspace\b|--all\b`)
	hashComment = re(`(?:^|\s)#.*$`)
	runsTests   = re(`\b(?:pytest|tox|nox|unittest|go\s+test|gotestsum|cargo\s+(?:test|nextest)|(?:npm|yarn|pnpm|bun)\s+(?:run\s+)?test|jest|vitest|mocha|ava|karma|cypress|playwright|rspec|rake\s+(?:test|spec)|minitest|mvnw?\s.*(?:test|verify)|gradlew?\s.*(?:test|check)|ctest|make\s+(?:test|check)|dotnet\s+test|phpunit|bazel\s+test|golangci-lint|eslint|mypy|ruff|go\s+vet)\b`)
	needs       = re(`^\s*needs\s*:`)
	recipeMinus = re(`^\t-`)
)

// pipelineLines are the lines of a file that say something.
func pipelineLines(file, text string) (lines []string) {
	slashes := path.Base(file) == "Jenkinsfile" || slices.Contains([]string{".js", ".ts", ".mjs", ".cjs", ".json", ".gradle", ".kts"}, path.Ext(file))
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if slashes {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
		} else {
			line = hashComment.ReplaceAllString(line, "")
		}
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, " \t\r"))
		}
	}
	return lines
}

// comparePipelines says how a pipeline or a configuration demands less. Only what
// is added counts, and steps that are gone.
func comparePipelines(e ecosystem, file, before, after string) (changes []change) {
	was, now := pipelineLines(file, before), pipelineLines(file, after)
	added := linesAdded(was, now)
	for _, s := range signs {
		if e == configFiles && s.what == ciCondition {
			continue
		}
		if n := matching(s.pattern, now) - matching(s.pattern, was); n > 0 || s.what == ciCondition && matching(s.pattern, added) > 0 {
			c := sure
			if !s.sure {
				c = likely
			}
			changes = append(changes, change{what: s.what, marker: s.name, certainty: c})
		}
	}
	if path.Base(file) == "Makefile" && matching(recipeMinus, now) > matching(recipeMinus, was) {
		changes = append(changes, change{what: ciCannotFail, marker: "-", certainty: sure})
	}
	if e == configFiles {
		changes = append(changes, compareCollected(file, was, now, added)...)
	}
	switch {
	case runningTests(now) < runningTests(was):
		changes = append(changes, change{what: ciStepRemoved, certainty: sure})
	case matching(everything, now) < matching(everything, was):
		changes = append(changes, change{what: ciStepRemoved, marker: "fewer", certainty: likely})
	}
	if e == ciFiles && matching(triggers, now) < matching(triggers, was) {
		c := likely
		if matching(triggers, now) == 0 {
			c = sure // nothing that is proposed is looked at any more
		}
		changes = append(changes, change{what: ciCondition, marker: "on", certainty: c})
	}
	if e == ciFiles && matching(needs, linesAdded(now, was)) > 0 && strings.Count(strings.Join(linesAdded(now, was), "\n"), ",")+matching(needs, was) > strings.Count(strings.Join(added, "\n"), ",")+matching(needs, now) {
		changes = append(changes, change{what: ciCondition, marker: "needs", certainty: likely})
	}
	return append(changes, compareThresholds(file, was, now)...)
}

var (
	// collects are the lines by which a runner is told where tests are.
	collectsFrom = re(`(?i)\b(?:testpaths|test_?[mM]atch|testRegex|python_(?:files|classes|functions)|testDir|specPattern|roots)\b['"]?\s*[:=]`)
	// leavesOut names tests to a runner as what it does not run.
	leavesOut  = re(`(?i)\b(?:exclude|ignore)['"]?\s*[:=(]?\s*\[?[^\]]*(?:test|spec)`)
	inGradle   = re(`\b(?:enabled\s*=\s*false|isEnabled\s*=\s*false|onlyIf\s*\{\s*false|exclude\w*\s*[("'].*(?:Test|Spec))`)
	quotedWord = re(`[\w./*@{}$-]+`)
)

// compareCollected says whether a configuration has its runner look for fewer
// tests: in a part of where it looked, or not where it is told not to look.
func compareCollected(file string, was, now, added []string) (changes []change) {
	before, after := matchingLines(collectsFrom, linesAdded(now, was)), matchingLines(collectsFrom, added)
	if len(before) > 0 && len(after) > 0 {
		c := likely
		if within(after, before) {
			c = sure
		}
		changes = append(changes, change{what: ciStepRemoved, marker: "collected", certainty: c})
	}
	if path.Base(file) != "package.json" && matching(leavesOut, now) > matching(leavesOut, was) {
		changes = append(changes, change{what: ciStepRemoved, marker: "left out", certainty: likely})
	}
	if strings.Contains(path.Base(file), ".gradle") && matching(inGradle, now) > matching(inGradle, was) {
		changes = append(changes, change{what: ciCannotFail, marker: "disabled", certainty: sure})
	}
	return changes
}

// within reports whether every place that lines name is one that others name, or
// lies in one.
func within(lines, others []string) bool {
	places := func(lines []string) []string {
		_, values, _ := strings.Cut(strings.Join(lines, " "), "=")
		return quotedWord.FindAllString(values, -1)
	}
	old := places(others)
	for _, p := range places(lines) {
		if !slices.ContainsFunc(old, func(o string) bool { return p == o || strings.HasPrefix(p, strings.TrimSuffix(o, "/")+"/") }) {
			return false
		}
	}
	return true
}

func matchingLines(p pattern, lines []string) (list []string) {
	for _, l := range lines {
		if p.MatchString(l) {
			list = append(list, l)
		}
	}
	return list
}

func matching(p pattern, lines []string) (n int) {
	for _, l := range lines {
		n += len(p.FindAllString(l, -1))
	}
	return n
}

// runningTests counts the commands that run tests; a command that is printed runs
// nothing.
func runningTests(lines []string) (n int) {
	for _, l := range lines {
		n += len(runsTests.FindAllString(printed.ReplaceAllString(l, ""), -1))
	}
	return n
}

// linesAdded is the lines that were not there before.
func linesAdded(was, now []string) (added []string) {
	count := map[string]int{}
	for _, l := range was {
		count[strings.TrimSpace(l)]++
	}
	for _, l := range now {
		if count[strings.TrimSpace(l)]--; count[strings.TrimSpace(l)] < 0 {
			added = append(added, l)
		}
	}
	return added
}

var (
	threshold  = re(`(?i)(coverage_?-?threshold\w*|fail[_-]?under|cov-fail-under|min(?:imum)?[_-]?coverage|coverage[_-]?min(?:imum)?|min_?score|minimum|threshold|target|branches|functions|lines|statements|max-?warnings|check-coverage|mutation_?score\w*|high|low|break)['"]?\s*[:=>\s]\s*['"]?(-?\d+(?:\.\d+)?)`)
	inCoverage = re(`(?i)cover|threshold|fail_?-?under|cov-|branches|functions|lines|statements|max-?warnings|mutat|jacoco|codecov|simplecov|minimum`)
)

// compareThresholds says whether a minimum is lower than it was, or gone.
func compareThresholds(file string, was, now []string) (changes []change) {
	before, after := thresholds(file, was), thresholds(file, now)
	for _, name := range sortedKeys(before) {
		lower := len(after[name]) < len(before[name])
		for i, v := range before[name] {
			if i < len(after[name]) {
				less := after[name][i] < v
				if strings.HasPrefix(name, "max") {
					less = after[name][i] > v
				}
				lower = lower || less
			}
		}
		if lower {
			changes = append(changes, change{what: thresholdLowered, marker: name, certainty: sure})
		}
	}
	return changes
}

func thresholds(file string, lines []string) map[string][]float64 {
	found := map[string][]float64{}
	for _, l := range lines {
		if !inCoverage.MatchString(l) && !inCoverage.MatchString(path.Base(file)) {
			continue
		}
		for _, m := range threshold.FindAllStringSubmatch(l, -1) {
			if v, err := strconv.ParseFloat(m[2], 64); err == nil {
				name := strings.ToLower(m[1])
				found[name] = append(found[name], v)
			}
		}
	}
	return found
}
