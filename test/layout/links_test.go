package layout

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestLinksBetweenDocumentsLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	walk(t, func(path, content string) {
		if !strings.HasSuffix(path, ".md") {
			return
		}
		for _, found := range link.FindAllStringSubmatch(content, -1) {
			target := filepath.Join(root, filepath.Dir(path), found[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", path, found[1])
			}
		}
	})
}
