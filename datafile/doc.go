// Package datafile reads YAML and JSON files that people write, more strictly
// than YAML is: one document, no duplicate keys, no anchors, aliases, merges or
// tags, text keys, and only numbers that JSON and a double both hold.
//
// Every value keeps its place, and a Decoder turns values into typed data while
// it collects all problems in one run, each with file, row and column.
package datafile
