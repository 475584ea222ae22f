package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// describe prints a table for each group: its members, its state, or else its offsets.
func (p groupsPrinter) describe(groups []groupDescription, members, state bool) error {
	if p.json {
		if groups == nil {
			groups = []groupDescription{}
		}
		return printJSON(p.out, groups)
	}
	printed := false
	for _, g := range groups {
		if len(g.Members) == 0 {
			fmt.Fprintf(p.err, "group %s has no members\n", g.Group)
		}
		rows := p.offsetRows(g)
		switch {
		case members:
			rows = p.memberRows(g)
		case state:
			rows = p.stateRows(g)
		}
		if len(rows) == 1 {
			continue
		}
		if printed {
			fmt.Fprintln(p.out)
		}
		printed = true
		if err := p.table(rows); err != nil {
			return err
		}
	}
	return nil
}

// offsetRows has the partitions, and then the members that read none.
func (p groupsPrinter) offsetRows(g groupDescription) [][]string {
	row := func(topic, partition, epoch string, rest ...string) []string {
		cells := []string{g.Group, topic, partition}
		if p.verbose {
			cells = append(cells, epoch)
		}
		return append(cells, rest...)
	}
	head := row("TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
	head[0] = "GROUP"
	rows := [][]string{head}
	for _, o := range g.Offsets {
		rows = append(rows, row(o.Topic, number(&o.Partition), number(o.LeaderEpoch), number(o.Committed), number(o.LogEnd), number(o.Lag),
			orDash(o.ConsumerID), orDash(o.Host), orDash(o.ClientID)))
	}
	for _, m := range g.Members {
		if m.partitions() == 0 {
			rows = append(rows, row("-", "-", "-", "-", "-", "-", m.ConsumerID, m.Host, m.ClientID))
		}
	}
	return rows
}

// memberRows has a column for instance ids only where a member has one.
func (p groupsPrinter) memberRows(g groupDescription) [][]string {
	static := slices.ContainsFunc(g.Members, func(m memberDescription) bool { return m.InstanceID != "" })
	row := func(group, id, instance string, rest ...string) []string {
		cells := []string{group, id}
		if static {
			cells = append(cells, instance)
		}
		return append(cells, rest...)
	}
	head := row("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
	if p.verbose {
		head = append(head, "CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT")
	}
	rows := [][]string{head}
	for _, m := range g.Members {
		cells := row(g.Group, m.ConsumerID, orDash(m.InstanceID), m.Host, m.ClientID, fmt.Sprint(m.partitions()))
		if p.verbose {
			cells = append(cells, number(m.Epoch), assignment(m.Assignment), number(g.AssignmentEpoch), assignment(m.Target))
		}
		rows = append(rows, cells)
	}
	return rows
}

func (p groupsPrinter) stateRows(g groupDescription) [][]string {
	head := []string{"GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"}
	cells := []string{g.Group, fmt.Sprintf("%s (%d)", g.Coordinator, g.CoordinatorID), orDash(g.Assignor), g.State}
	if p.verbose {
		head = append(head, "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH")
		cells = append(cells, number(g.Epoch), number(g.AssignmentEpoch))
	}
	return [][]string{append(head, "#MEMBERS"), append(cells, fmt.Sprint(len(g.Members)))}
}

// assignment writes partitions as orders:0,1 payments:2.
func assignment(topics map[string][]int32) string {
	var words []string
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		var numbers []string
		for _, p := range topics[topic] {
			numbers = append(numbers, number(&p))
		}
		words = append(words, topic+":"+strings.Join(numbers, ","))
	}
	return orDash(strings.Join(words, " "))
}
