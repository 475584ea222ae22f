// Package layout holds tests of the source tree itself: which package may import which, how long files may be, and that
// nothing is left undone without an owner. `make lint` runs them.
package layout
