// Package documents holds users' documentation to its word: what README.md and docs/ tell people to type is run here.
package documents
