package group

// summary shows the group as Kafka does: with the protocol while it is stable.
func (c *classicGroup) summary() Description {
	d := Description{
		ID: c.g.name, Type: Classic, State: c.state, ProtocolType: c.protocolType,
		Epoch: c.generation, AssignmentEpoch: c.generation, Since: c.since,
	}
	if c.state == Stable {
		d.Protocol = c.protocol
	}
	return d
}

// describe shows the members too, and what they said for the protocol while the group is stable.
func (c *classicGroup) describe() Description {
	d := c.summary()
	d.Members = make([]MemberDescription, 0, len(c.list))
	for _, m := range c.list {
		md := MemberDescription{MemberID: m.id, InstanceID: m.instance, Client: m.client, Assignment: m.assignment}
		if c.state == Stable {
			md.Metadata = m.metadata(c.protocol)
		}
		d.Members = append(d.Members, md)
	}
	return d
}

// subscribed tells whether members read the topic. Where that cannot be known, consumers are taken to.
func (c *classicGroup) subscribed(topic string) bool {
	if c.topics.known {
		return c.topics.names[topic]
	}
	return c.protocolType == consumerType && c.state != Empty
}
