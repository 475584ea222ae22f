package copying

import (
	"strings"

	"github.com/korvet-io/korvet/internal/metadata"
)

// Report logs once what keeps a topic from being copied, and once that it is over.
func (c *Copier) Report(topic *metadata.Topic, err error) {
	text := ""
	if err != nil {
		text = withoutNames(err.Error())
	}
	c.mu.Lock()
	before := c.told[topic.ID]
	if c.told[topic.ID] = text; text == "" {
		delete(c.told, topic.ID)
	}
	c.mu.Unlock()
	switch {
	case text == before:
	case err == nil:
		c.Log.Info("copying to the remote tier works again", "topic", topic.Name)
	default:
		c.Log.Warn("not all that is due was copied to the remote tier: trying again at each tick", "topic", topic.Name, "error", err)
	}
}

// withoutNames makes texts of the same trouble the same, although each try has a new file and new ids of requests.
func withoutNames(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if strings.Contains(w, ".parquet") || i > 0 && strings.HasSuffix(words[i-1], "ID:") {
			words[i] = "_"
		}
	}
	return strings.Join(words, " ")
}
