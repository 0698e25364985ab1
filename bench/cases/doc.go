// Package cases runs a corpus of small inputs, each with the outcome it should
// have, through the real engine with the coding-agent bundle.
//
// A case's context becomes the bundle's scope and registry, a temporary tree of
// files and links, or what happened before (an approval, a rejection, a checker's
// answer), set up by what the context says and never by which case it is. A
// context that is not understood makes the case unsupported: it never counts as
// a hit.
package cases
