// Package signals computes facts from one action before policy runs: what a
// path resolves to, which commands a line would run, whether content holds a
// secret. Policies stand on what a call would do and not on the string that
// was declared.
//
// A fact is a function of the action, the bundle's scope data and an explicit,
// read-only view of the world. It has no verdict of its own. What cannot be
// determined is unknown and never clean: the conclusive list of a family
// (`paths`, `commands`, `findings`, ...) is absent then, so that a floor which
// reads it applies and a gate which reads it is Unknown. What was found all the
// same is in the family's `seen`, for rules that deny. Facts are recorded with
// the decision, so a replay needs no disk.
//
// # Path
//
// `path.paths` has an element for every path that a call names: arguments of
// kind path, delete, from and to, and what the commands of arguments of kind
// command read, write, delete or run, redirections included. It says nothing of
// what a program does beyond the words of its line: such a command has the
// effect execute.
//
//	argument      JSON pointer into the arguments; of the whole command
//	declared      as written, quotes and escapes of a shell removed
//	access        read, write, delete, execute or link (a new symbolic link leads
//	              there)
//	resolved      absolute and clean; every link followed as the kernel does it,
//	              as far as the path exists. A deletion means a last link itself
//	link          where the last component itself is, if it is a link: a write may
//	              put a file in its place; empty otherwise
//	exists        whether there is such a file
//	inside, root  whether it is in a root of the scope, and in which one; with no
//	              roots nothing is inside; for a write the link has to be as well
//	guessed       whether nobody says that the word is a path: it looks like one
//	above         whether it is a folder that a root is in
//	lists         for allowing: lists with a glob that matches `resolved` as it
//	              is spelled
//	lists_folded  for restricting: `lists`, and those that match in another case
//	              or composition, or match any name that led here: the declared
//	              one, a link on the way, a reading with backslashes as
//	              separators, without trailing dots or a stream; or that match a
//	              folder it is in
//	lists_under   for restricting what takes a whole folder: lists that can match
//	              it or something below it
//	              (of a name that is not there yet, those that lead through it by
//	              more than a `**`)
//	problems      what makes the name doubtful: alternate_stream, backslash,
//	              format_character, percent_encoded, process_path, short_name,
//	              trailing_dot_or_space, variable
//
// An element of `seen` that could not be resolved has the code as a problem and
// nothing after `access` but problems.
//
// A command that reads a folder with all that is in it (grep -r, tar c, cp -r, rg)
// has, beside the folder, an element for one file in it for every list that the
// folder is not on, by `lists_folded`, and for every link out of it that is followed.
// Files that its options leave out do not count, as far as that is sure; rg is taken
// to have no configuration of its own. A folder that cannot be listed, or is too
// large, is unknown.
//
// A relative glob is below each root, or below the working directory where there
// are no roots; restricting, below both. `src/**` is the top folder only, a
// plain folder or a trailing separator is the folder and all that is in it, `~/`
// and `$HOME/` are the home; no other variable has a place in a glob. A link below a root does not widen an allowing list.
//
// # Shell
//
// `shell.commands` has an element for every command that a line would run, of
// lists, pipes, substitutions, functions, wrappers and the text of inner shells;
// a wrapper is one itself, unless the scope says that it passes through. A
// redirection of a group is an element without words.
//
//	argument      JSON pointer into the arguments
//	program       as named; ./sed is not sed
//	words, text   the program and its arguments, quotes and escapes removed, and
//	              the same joined; a word that is known only when the line runs
//	              is as written
//	via           the wrappers that run it, outermost first
//	builtin       whether a shell runs it by itself
//	known         whether its effects are known
//	effects       read, write, delete, network, execute (it runs other code), link
//	              (it makes a symbolic link)
//	lists         for allowing: lists with a pattern that it matches word by word
//	lists_folded  for restricting: those that it may match however its program is
//	              qualified, its options are split, ordered or abbreviated, and
//	              its open words turn out; of a program that nobody knows, those
//	              of the command that its words may be, and of a script that is
//	              run by its own name, those of what it runs
//	passes        whether it is a wrapper that does nothing besides running the
//	              command after it, which is an element of its own
//	problems      alias, changes_directory, code_undetermined, deceptive_quote,
//	              environment, filter_acts, format_character, function,
//	              git_config, inline_code, later_line, network_redirect, option_runs_program, option_writes,
//	              path_qualified, privilege, program_undetermined,
//	              redirect_writes, script_unread, undetermined_word
//
// deceptive_quote stands at every command of a text in which a backslash ends a
// quote that whoever takes it for an escape reads on; later_line at commands below
// the line that the first one is on; filter_acts where the script of sed or awk
// writes or runs something. option_writes and redirect_writes are writes and deletions by an option or a
// redirection of the command and not by what the program is for;
// option_runs_program an option that says which other code is run, whose command
// line is an element of its own where it has one. A script that a
// shell is given by name is read, and its commands are listed too; where the line
// may change it first, the commands are unknown.
//
// A word that is a pattern of names (*.go, .e*, d/[ab]?) stays as written in words
// and text; paths and lists are of the names that it matches, or of the pattern
// itself where it matches none, as a shell that was started without options has it,
// and once more for one in which ** is any number of folders. It is an undetermined
// word wherever that is not sure: to a command that does not treat all names alike;
// where the folder is not known, cannot be listed or is too large; where a match
// would read as an option; where shells or locales differ; where the line
// sets options of patterns, runs another shell, or may change what is in the folder.
//
// A loop over words that are known (for f in a *.pem) is read once for each of them,
// up to 256 statements in all, where its body does nothing that may set the
// variable otherwise; its commands are those of every turn.
//
// `any` and `all` of both families have a member for every list of the scope:
// whether any element may be on it (lists_folded), and whether all are (lists).
// They are there when the conclusive list is.
//
// A command pattern is words; a star at its end is any further words or none, a
// star elsewhere any text in a word.
//
// # Network
//
// `network.hosts` has an element for every host that a call names: in an argument
// that is an address, in any other that is wholly an address or a mail address,
// and in the words of commands.
//
//	argument      JSON pointer into the arguments
//	scheme, host  the host in its canonical form
//	lists         lists of the scope that it is on
//	problems      internal_address, international_name, literal_address,
//	              not_a_name
package signals
