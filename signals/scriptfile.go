package signals

import "strings"

// maxScript is the size of the largest script that is read.
const maxScript = maxLine

// file reads the script that a shell is given by name: what it holds is what
// runs. One that is not there, or cannot be read, is a problem of the command and
// no proof of anything.
func (l *line) file(c *invocation, w shellWord, in dirs) {
	dir, one := in.only()
	one = one && !l.loose || strings.HasPrefix(w.text, "/")
	if w.open || l.world.Files == nil || !one {
		c.problem("script_unread")
		return
	}
	place := newTree(l.world).resolveIn(dir, w.text, true)
	if place.unknown != "" || !place.exists {
		c.problem("script_unread")
		return
	}
	text, err := l.world.Files.ReadFile(place.resolved, maxScript)
	if err != nil {
		c.problem("script_unread")
		return
	}
	l.code(c, shellWord{text: string(text)}, in)
}
