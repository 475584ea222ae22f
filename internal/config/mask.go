package config

import (
	"regexp"
	"strings"
)

const mask = "********"

var userinfo = regexp.MustCompile(`://[^/?#]*@|://[^@]*@`)

// maskURI hides what stands before the @ of URIs in text, but for the user's name.
func maskURI(text string) string {
	parts := strings.Split(text, ",redis")
	for i, part := range parts {
		parts[i] = userinfo.ReplaceAllStringFunc(part, func(m string) string {
			user, _, hasPassword := strings.Cut(strings.TrimPrefix(m, "://"), ":")
			if !hasPassword {
				user = "" // some write the password alone
			} else {
				user += ":"
			}
			return "://" + user + mask + "@"
		})
	}
	return strings.Join(parts, ",redis")
}

// secretName tells whether a setting, known or not, is likely to hold a secret by its name.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "password") || strings.Contains(name, "secret") || strings.Contains(name, "access-key")
}
