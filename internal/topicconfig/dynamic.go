package topicconfig

import "maps"

// Dynamic are the defaults of topic settings that were changed while the brokers run, by the topic setting's name, in
// canonical form.
type Dynamic struct {
	Broker  map[string]string // of one broker; they win
	Cluster map[string]string // of all brokers
}

// SetDynamic puts other dynamic defaults in force. Settings that were resolved before keep the values they had. The maps
// must not be changed afterwards.
func (s *Schema) SetDynamic(d Dynamic) { s.dynamic.Store(&d) }

// BrokerSetting finds the setting whose default is the broker setting of this name.
func (s *Schema) BrokerSetting(brokerName string) (*Setting, bool) {
	setting, ok := s.byBroker[brokerName]
	return setting, ok
}

// ResolveBroker returns the values that the broker gives to a setting of topics without their own, in order of precedence.
func (s *Schema) ResolveBroker(setting *Setting) []Value {
	var values []Value
	d := s.dynamic.Load()
	if v, ok := d.Broker[setting.Name]; ok {
		values = append(values, Value{v, FromBroker})
	}
	if v, ok := d.Cluster[setting.Name]; ok {
		values = append(values, Value{v, FromCluster})
	}
	if v, ok := s.defaults[setting.Name]; ok {
		values = append(values, Value{v, FromServer})
	}
	return append(values, Value{setting.Default, FromDefault})
}

// CheckDynamic checks dynamic defaults against each other, as if a topic had them all.
func (s *Schema) CheckDynamic(d Dynamic) error {
	all := maps.Clone(d.Cluster)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, d.Broker)
	if err := s.cross("", all, nil); err != nil || !s.remote {
		return err
	}
	return s.crossRetention("", all)
}
