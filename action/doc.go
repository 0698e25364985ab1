// Package action reads one proposed tool call, strictly, and names it by its
// content.
//
// Everything that decides or records starts here: the enforcement points turn
// untrusted bytes into an [engine.Action], the journal and the bundle digest
// take their canonical bytes from here, and approvals are bound to the hashes
// made here.
//
// # What is read
//
// [Decode], [Canonical] and [Parse] accept the same JSON: one document of at
// most [MaxSize] bytes, in UTF-8 without a byte order mark, with nothing but
// white space after it, objects and arrays nested at most [MaxDepth] deep, each
// key once in its object, no lone surrogates, and no number that a double
// cannot hold exactly as written (see number.go). Decode asks in addition for
// the fields of an action by their exact names, and for no others.
//
// What is refused is refused with an [*Error] that names line, column, JSON
// pointer and a way out. Nothing is repaired, guessed or defaulted.
//
// # What comes out
//
// The canonical bytes are those of RFC 8785. Values are those that the
// canonical bytes stand for, so that Rego, CEL and the hashes see one and the
// same thing: -0 is 0, 1e3 is 1000, and the order of keys is lost.
//
// Two hashes name an action. InputHash covers all of it. CallHash covers what
// the call would do, and is the same whenever the same call is proposed again
// (see hash.go for what it is taken over).
//
// # What it does not do
//
// It does not judge. Whether a confidence of 7 is in range, whether the tool
// exists or an origin points at an argument is for the engine and the bundle.
// It reads no file, clock or environment, keeps no state, and may be used from
// any number of goroutines.
package action
