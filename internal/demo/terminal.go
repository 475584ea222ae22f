package demo

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Terminal shows frames on a terminal without flicker: on its second screen, each frame in one write over the one
// before. Close gives the screen and the cursor back.
type Terminal struct {
	file *os.File
}

// OpenTerminal takes the terminal that f is; nil when it is none, or none that understands cursor movements.
func OpenTerminal(f *os.File, term string) *Terminal {
	t := &Terminal{file: f}
	if width, _ := t.Size(); width == 0 || term == "" || term == "dumb" {
		return nil
	}
	_, _ = f.WriteString("\x1b[?1049h\x1b[?25l") // the second screen, no cursor; a terminal that is gone ends the program
	return t
}

// Size is the number of columns and rows, 0 when f is no terminal.
func (t *Terminal) Size() (width, height int) {
	size, err := unix.IoctlGetWinsize(int(t.file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

// Show draws a frame.
func (t *Terminal) Show(lines []string) {
	width, height := t.Size()
	_, _ = t.file.WriteString(frame(lines, width, height))
}

// Close gives the screen and the cursor back.
func (t *Terminal) Close() { _, _ = t.file.WriteString("\x1b[?25h\x1b[?1049l") }

// frame is what draws lines over the frame before, cut to the screen.
func frame(lines []string, width, height int) string {
	var out strings.Builder
	out.WriteString("\x1b[H")
	for i, line := range lines[:min(len(lines), max(height, 1))] {
		if i > 0 {
			out.WriteString("\r\n")
		}
		out.WriteString(cut(line, width))
		out.WriteString("\x1b[K")
	}
	out.WriteString("\x1b[J")
	return out.String()
}

// cut shortens a line of single-width characters to width.
func cut(line string, width int) string {
	runes := []rune(line)
	if len(runes) <= width || width <= 0 {
		return line
	}
	return string(runes[:width-1]) + "…"
}
