// Package cli is the command line. A command parses flags, calls one function
// of another room, renders, and returns: it decides nothing itself.
//
// Results go to standard output, everything else to standard error. Exit codes
// stand in exit.go and do not depend on the output format.
package cli
