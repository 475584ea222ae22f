package topicconfig

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/topic-settings.md")

const page = "../../docs/topic-settings.md"

// TestDocumentationMatchesTheTable keeps the users' page equal to the table; -update writes it.
func TestDocumentationMatchesTheTable(t *testing.T) {
	want := renderPage()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says: run go test ./internal/topicconfig -update", page)
	}
}

func renderPage() string {
	var b strings.Builder
	b.WriteString(`# Topic settings

<!-- Written by go test ./internal/topicconfig -update from the table in internal/topicconfig/table.go. -->

A setting's value is the topic's own, else that of the first matching pattern of ` + "`korvet.topics`" + ` that gives one, else the
server's, else the default below. Every setting of Apache Kafka 4.4 is accepted and validated as there. Times are in
milliseconds, sizes in bytes.

Effect: **now** has the effect described.
**none** is validated, stored and shown, so that tools which set it work, and has no meaning here.

| setting | type | default | Kafka's default | effect | meaning |
|---|---|---|---|---|---|
`)
	for _, s := range table() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", s.Name, strings.ToLower(s.Type.String()), shown(s.Default), kafkaDefault(s), effectWord(s.Effect), s.Doc+creationOnly(s))
	}
	return b.String()
}

func shown(v string) string {
	switch v {
	case "":
		return "(empty)"
	case longMax:
		return "9223372036854775807 (no limit)"
	}
	return v
}

func kafkaDefault(s Setting) string {
	if s.Product {
		return "(not in Kafka)"
	}
	if s.KafkaDefault == "" {
		return "the same"
	}
	return s.KafkaDefault
}

func effectWord(e Effect) string {
	if e == Active {
		return "now"
	}
	return "none"
}

func creationOnly(s Setting) string {
	if s.CreationOnly {
		return " Only when the topic is created."
	}
	return ""
}
