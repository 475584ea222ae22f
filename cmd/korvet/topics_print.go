package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/twmb/franz-go/pkg/kadm"
)

// topicDone is what happened to one topic: something was done, or an error.
type topicDone struct {
	Topic      string `json:"topic"`
	ID         string `json:"id,omitempty"`
	Partitions int32  `json:"partitions,omitempty"`
	Done       string `json:"done,omitempty"`
	Error      string `json:"error,omitempty"`
}

type topicDescription struct {
	Topic      string                 `json:"topic"`
	ID         string                 `json:"id"`
	Configs    map[string]string      `json:"configs"` // those set on the topic
	Partitions []partitionDescription `json:"partitions"`
}

type partitionDescription struct {
	Partition   int32  `json:"partition"`
	Leader      int32  `json:"leader"`
	LeaderEpoch int32  `json:"leader_epoch"`
	LogStart    int64  `json:"log_start_offset"`
	LogEnd      int64  `json:"log_end_offset"`
	Error       string `json:"error,omitempty"`
}

// topicID writes an id as Kafka's own tools do: base64 for URLs, without padding.
func topicID(id kadm.TopicID) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// topicsPrinter prints for people or, with json, for programs.
type topicsPrinter struct {
	out  io.Writer
	json bool
}

// done tells what was done, and gives back the errors, which are for programs here; people find them below.
func (p topicsPrinter) done(all []topicDone, problems []error) error {
	if p.json {
		return errors.Join(append(problems, printJSON(p.out, all))...)
	}
	for _, d := range all {
		if d.Error != "" {
			continue
		}
		fmt.Fprintf(p.out, "topic %s %s", d.Topic, d.Done)
		if d.Done == "created" && d.Partitions > 0 {
			fmt.Fprintf(p.out, ", %s, id %s", count(int(d.Partitions), "partition"), d.ID)
		}
		fmt.Fprintln(p.out)
	}
	return errors.Join(problems...)
}

func (p topicsPrinter) list(topics []kadm.TopicDetail) error {
	list := []map[string]any{}
	for _, t := range topics {
		if !p.json {
			fmt.Fprintln(p.out, t.Topic)
			continue
		}
		list = append(list, map[string]any{"topic": t.Topic, "id": topicID(t.ID), "partitions": len(t.Partitions), "internal": t.IsInternal})
	}
	if p.json {
		return printJSON(p.out, list)
	}
	return nil
}

func (p topicsPrinter) describe(topics []topicDescription) error {
	if p.json {
		return printJSON(p.out, topics)
	}
	for i, t := range topics {
		if i > 0 {
			fmt.Fprintln(p.out)
		}
		fmt.Fprintf(p.out, "topic %s, %s, id %s\n", t.Topic, count(len(t.Partitions), "partition"), t.ID)
		for _, name := range slices.Sorted(maps.Keys(t.Configs)) {
			fmt.Fprintf(p.out, "  %s=%s\n", name, t.Configs[name])
		}
		w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(w, "  partition\tleader\tepoch\tlog start\tlog end\toffsets\t\n")
		for _, one := range t.Partitions {
			fmt.Fprintf(w, "  %d\t%d\t%d\t%d\t%d\t%d\t%s\n", one.Partition, one.Leader, one.LeaderEpoch, one.LogStart, one.LogEnd, one.LogEnd-one.LogStart, one.Error)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}
