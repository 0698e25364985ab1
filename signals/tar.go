package signals

import (
	"slices"
	"strings"
)

// tarOptions is what tar's options take, after its own way of bundling them.
var tarOptions = parseProgram(strings.Fields(`-f=archive --file=archive -C=folder --directory=folder -I=command --use-compress-program=command
	--to-command=command --checkpoint-action=option -F=command --info-script=command --new-volume-script=command --rsh-command=command
	-T=list --files-from=list -X=read --exclude-from=read --exclude=skip --transform=skip --xform=skip -b=skip --blocking-factor=skip
	-g=write --listed-incremental=write --strip-components=skip --owner=skip --group=skip --mode=skip --mtime=skip -N=skip
	--one-top-level -z -j -J -v -p -k -h!links --dereference!links -P -a -O -S -m -o -w -W -l -U -n
	-c!create --create!create -r!create --append!create -u!create --update!create -A!create
	-x!extract --extract!extract --get!extract -t!list --list!list -d!list --remove-files!delete --zstd --gzip --bzip2 --xz --verbose --overwrite`))

// tar packs, unpacks or lists.
func (l *line) tar(c *invocation, words []shellWord, in dirs) (ok, failed dirs) {
	a := tarOptions.scan(bundled(words), false)
	to := len(a.operands)
	if slices.ContainsFunc(a.options, func(o givenOption) bool { return o.value == "folder" }) {
		to = 0 // it looks for them elsewhere than the shell
	}
	a.operands = c.take(a.operands, 0, to)
	archive := []shellWord{}
	folders := []shellWord{}
	mode, follows := "", false
	for _, o := range a.options {
		switch o.effect {
		case "create", "extract", "list":
			mode = o.effect
		case "links":
			follows = true
		case "delete":
			c.effect("delete")
			l.operands(c, a.operands, in, remove)
		}
		for _, v := range unmatched(o.values) {
			switch o.value {
			case "archive":
				archive = append(archive, v)
			case "folder":
				folders = append(folders, v)
			default:
				l.value(c, o.option, 0, v, in, &optionSettings{})
			}
		}
	}
	from := in
	for _, f := range folders {
		if f.open {
			from = dirs{open: true}
			continue
		}
		// Each one starts from the one before, and operands may stand before it.
		from = from.or(from.change(f.text))
	}
	for _, w := range a.loose {
		l.guess(c, []shellWord{w}, in, read)
	}
	switch mode {
	case "create":
		l.remote(c, "remote", archive, in, write)
		l.operands(c, a.operands, from, read)
		c.whole(walk{follows: follows})
	case "list":
		l.remote(c, "remote", archive, in, read)
	default:
		l.remote(c, "remote", archive, in, read)
		if len(folders) == 0 {
			folders = []shellWord{{text: "."}}
		}
		l.operands(c, folders, in, write)
	}
	return in, in
}

// bundled puts the first word of the old form, `czf out.tgz dir`, into the new
// one: the values of its letters are the words that follow, in order.
func bundled(words []shellWord) []shellWord {
	if len(words) == 0 || words[0].open || words[0].text == "" || strings.HasPrefix(words[0].text, "-") {
		return words
	}
	rest, out := words[1:], []shellWord{}
	for _, letter := range words[0].text {
		name := "-" + string(letter)
		out = append(out, shellWord{text: name})
		if o, ok := tarOptions.lookup(name); ok && o.takes() > 0 && len(rest) > 0 {
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	return append(out, rest...)
}
