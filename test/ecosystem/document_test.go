package ecosystem_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTheDocumentNamesTheVersionsThatAreTried(t *testing.T) {
	document := readFile(t, filepath.Join("..", "..", "docs", "ecosystem.md"))
	for system, row := range map[string]string{"kafka": "| Kafka Streams | ", "spark": "| Spark Structured Streaming | "} {
		pom := readFile(t, filepath.Join("java", system, "pom.xml"))
		version := regexp.MustCompile("<" + system + ".version>(.*)<").FindStringSubmatch(pom)
		if version == nil || !strings.Contains(document, row+version[1]+" |") {
			t.Errorf("docs/ecosystem.md has no %q with the version of java/%s/pom.xml, %q", row, system, version)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
