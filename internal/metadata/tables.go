package metadata

import "github.com/google/uuid"

// Table says which table of the remote tier holds a life of a topic. The table's own properties say so, too.
type Table struct {
	Name     string    `json:"name"` // in the catalog: lower case, below the namespace korvet.namespace
	Topic    string    `json:"topic"`
	TopicID  uuid.UUID `json:"id"`
	Location string    `json:"location"` // with a scheme, without a slash at its end; never another table's
}
