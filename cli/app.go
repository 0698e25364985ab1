package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/signals"
)

// Env is everything a command gets from outside.
type Env struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Color          bool // whether Stdout is a terminal that wants colour
	Progress       bool // whether Stderr is a terminal, for progress
	Now            func() time.Time
	World          signals.World // where the agent's paths and commands would act
}

// System is the process's own environment.
func System() Env {
	terminal := isTerminal(os.Stdout)
	return Env{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now, World: world(),
		Progress: isTerminal(os.Stderr) && os.Getenv("CI") == "",
		Color:    terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// world is the machine as this process sees it. A directory that the system
// cannot name stays empty, and what depends on it is unknown.
func world() signals.World {
	w := signals.World{Files: signals.Disk{}}
	if dir, err := os.Getwd(); err == nil {
		w.Dir = dir
	}
	if home, err := os.UserHomeDir(); err == nil {
		w.Home = home
	} else if me, err := user.Current(); err == nil {
		// Services are started without HOME.
		w.Home = me.HomeDir
	}
	return w
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Main runs one command line and returns the exit code. An interrupt ends what
// is under way in order; a second one ends the process at once.
func Main(env Env) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	return mainUntil(ctx, env)
}

// errInterrupted is the end of a command that was interrupted.
var errInterrupted = errors.New("interrupted")

// mainUntil is Main until the context is done.
func mainUntil(ctx context.Context, env Env) int {
	env.Stdin = &interruptible{ctx: ctx, from: env.Stdin}
	out := &output{to: env.Stdout}
	env.Stdout = out
	app := newApp(&env)
	args, err := arrange(app, env.Args)
	if err == nil {
		err = app.RunContext(ctx, append([]string{app.Name}, args...))
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.Is(err, errInterrupted) {
		err = errInterrupted
	}
	var said exitError
	if out.err != nil && (err == nil || errors.As(err, &said)) {
		err = out.err // nobody has told yet that the result was not seen
	}
	report(env.Stderr, err)
	return codeOf(err)
}

// output is standard output, and the first error of writing it.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// report prints an error: one line, then a hint saying what to do next.
func report(w io.Writer, err error) {
	var code exitError
	if err == nil || errors.As(err, &code) {
		return
	}
	var load *bundle.LoadError
	if errors.As(err, &load) {
		for _, p := range load.Problems {
			fmt.Fprintf(w, "conjunct: %s\n", visible(p.String()))
		}
		return
	}
	fmt.Fprintf(w, "conjunct: %s\n", visible(err.Error()))
	if h := hint(err); h != "" {
		fmt.Fprintf(w, "hint: %s\n", visible(h))
	}
}

const about = `Conjunct stands between an AI agent and its tools. It decides whether a proposed
call may run by what being wrong would cost, and by hard gates that are joined,
never averaged.

Exit codes: 0 allowed or success, 1 the tool failed, 2 usage or malformed input,
3 blocked, 4 held for review, 5 a test, check, replay or comparison did not hold.`

// newApp builds the command tree. urfave/cli by itself ignores flags after
// arguments, exits 3 on an unknown command, exits 0 on a bare group and prints
// usage errors to standard output; arrange, group and onUsage mend these.
func newApp(env *Env) *cli.App {
	app := &cli.App{
		Name:        "conjunct",
		Usage:       "decide whether an agent's tool call may run",
		Description: about,
		HideVersion: true,
		// A comma is part of the name of a gate or an entity.
		DisableSliceFlagSeparator: true,
		HideHelpCommand:           true,
		Writer:                    env.Stdout,
		ErrWriter:                 env.Stderr,
		Reader:                    env.Stdin,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              onUsage,
		Action:                    group,
		Commands: []*cli.Command{decideCommand(env), reviewCommand(env), resultCommand(env), replayCommand(env), metricsCommand(env), stateCommand(env),
			runCommand(env), benchCommand(env), checkCommand(env), testCommand(env), initCommand(env), demoCommand(env), versionCommand(env)},
	}
	prepare(app.Commands)
	return app
}

// prepare gives every command the behaviour that all share.
func prepare(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = onUsage
		c.HideHelpCommand = true
		if c.Action == nil {
			c.Action = group
		}
		prepare(c.Subcommands)
	}
}

func onUsage(c *cli.Context, err error, _ bool) error {
	flag, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return usagef("see "+helpFor(c), "%s", strings.Replace(err.Error(), " for flag -", " for flag --", 1))
	}
	var names []string
	for _, f := range c.Command.VisibleFlags() {
		names = append(names, "--"+f.Names()[0])
	}
	// The flag's parser takes one dash off, or two.
	flag = strings.TrimLeft(flag, "-")
	hint := cmp.Or(elsewhere(flag, names), engine.DidYouMean("--"+flag, names), "see "+helpFor(c))
	return usagef(hint, "unknown flag %s", dashed(flag))
}

// elsewhere is where to find what other programs have under a flag.
func elsewhere(flag string, names []string) string {
	switch {
	case flag == "version" || flag == "v" || flag == "V":
		return "`conjunct version` prints the versions"
	case flag == "json" && slices.Contains(names, "--format"):
		return "did you mean --format json?"
	}
	return ""
}

// dashed is a flag as it is written.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func helpFor(c *cli.Context) string {
	if c.Command == nil || c.Command.Name == "" || c.Command.Name == "conjunct" {
		return "conjunct --help"
	}
	return strings.TrimSpace("conjunct "+strings.TrimPrefix(c.Command.HelpName, "conjunct ")) + " --help"
}

// group is the action of the program and of command groups: they do nothing
// themselves.
func group(c *cli.Context) error {
	var names []string
	commands := c.App.Commands
	if c.Command != nil && len(c.Command.Subcommands) > 0 {
		commands = c.Command.Subcommands
	}
	for _, sub := range commands {
		if !sub.Hidden {
			names = append(names, sub.Name)
		}
	}
	if c.Args().Present() {
		hint := engine.DidYouMean(c.Args().First(), names)
		if hint == "" {
			hint = "see " + helpFor(c)
		}
		return usagef(hint, "unknown command %q", c.Args().First())
	}
	return usagef("see "+helpFor(c), "a command is missing: %s", strings.Join(names, ", "))
}

// arrange moves flags before arguments, so that they may stand anywhere, and
// turns `help COMMAND` into `COMMAND --help`. Everything after `--` is an
// argument; a lone `-` is one too.
func arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) > 0 && args[0] == "help" {
		args = append(args[1:len(args):len(args)], "--help")
	}
	var path, flags, rest []string
	commands, known := app.Commands, app.Flags
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case strings.HasPrefix(arg, "-") && arg != "-":
			flags = append(flags, arg)
			if takesValue(known, arg) {
				if i++; i >= len(args) {
					return nil, usagef("", "flag %s needs a value", arg)
				}
				flags = append(flags, args[i])
			}
		default:
			if c := find(commands, arg); c != nil && len(rest) == 0 {
				path, commands, known = append(path, arg), c.Subcommands, append(known, c.Flags...)
				continue
			}
			rest = append(rest, arg)
		}
	}
	if len(rest) > 0 && len(commands) > 0 {
		// The rest names no command: let group say so instead of printing help.
		flags = slices.DeleteFunc(flags, func(f string) bool { return f == "--help" || f == "-h" })
	}
	out := append(path, flags...)
	if len(rest) > 0 {
		out = append(append(out, "--"), rest...)
	}
	return out, nil
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// takesValue reports whether the next argument belongs to the flag.
func takesValue(known []cli.Flag, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range known {
		for _, n := range f.Names() {
			if n == name {
				_, isBool := f.(*cli.BoolFlag)
				return !isBool
			}
		}
	}
	return false
}
