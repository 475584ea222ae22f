package jsoncolumns

// mostDepth is how deep a value may be nested; a deeper one counts as no JSON. It bounds the stack that reading it takes.
const mostDepth = 1000

// skipValue finds the byte after the JSON value (RFC 8259) that begins at a byte; -1: there is none. It looks at no byte beyond it, but for
// the one that ends a number.
func skipValue(b []byte, at, depth int) int {
	if at >= len(b) || depth > mostDepth {
		return -1
	}
	switch b[at] {
	case '"':
		return skipString(b, at)
	case '{':
		return skipMembers(b, at, depth, nil)
	case '[':
		return skipElements(b, at, depth)
	case 't':
		return skipWord(b, at, "true")
	case 'f':
		return skipWord(b, at, "false")
	case 'n':
		return skipWord(b, at, "null")
	}
	return skipNumber(b, at)
}

// skipMembers skips an object; f is called for each of its members.
func skipMembers(b []byte, at, depth int, f func(name, raw []byte)) int {
	if at = skipSpace(b, at+1); at < len(b) && b[at] == '}' {
		return at + 1
	}
	for {
		name := at
		if at >= len(b) || b[at] != '"' {
			return -1
		}
		if at = skipString(b, at); at < 0 {
			return -1
		}
		nameEnd := at
		if at = skipSpace(b, at); at >= len(b) || b[at] != ':' {
			return -1
		}
		value := skipSpace(b, at+1)
		if at = skipValue(b, value, depth+1); at < 0 {
			return -1
		}
		if f != nil {
			f(b[name:nameEnd], b[value:at])
		}
		if at = skipSpace(b, at); at >= len(b) {
			return -1
		}
		if b[at] == '}' {
			return at + 1
		}
		if b[at] != ',' {
			return -1
		}
		at = skipSpace(b, at+1)
	}
}

func skipElements(b []byte, at, depth int) int {
	if at = skipSpace(b, at+1); at < len(b) && b[at] == ']' {
		return at + 1
	}
	for {
		if at = skipValue(b, at, depth+1); at < 0 {
			return -1
		}
		if at = skipSpace(b, at); at >= len(b) {
			return -1
		}
		if b[at] == ']' {
			return at + 1
		}
		if b[at] != ',' {
			return -1
		}
		at = skipSpace(b, at+1)
	}
}

func skipSpace(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r') {
		at++
	}
	return at
}

func skipWord(b []byte, at int, word string) int {
	if end := at + len(word); end <= len(b) && string(b[at:end]) == word {
		return end
	}
	return -1
}

func skipString(b []byte, at int) int {
	for at++; at < len(b); at++ {
		switch c := b[at]; {
		case c == '"':
			return at + 1
		case c < ' ':
			return -1
		case c == '\\':
			if at = skipEscape(b, at+1); at < 0 {
				return -1
			}
		}
	}
	return -1
}

// skipEscape returns where the last byte of an escape is, whose backslash is before at.
func skipEscape(b []byte, at int) int {
	if at >= len(b) {
		return -1
	}
	switch b[at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at
	case 'u':
		if at+4 >= len(b) {
			return -1
		}
		for _, c := range b[at+1 : at+5] {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return -1
			}
		}
		return at + 4
	}
	return -1
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// skipDigits skips at least one.
func skipDigits(b []byte, at int) int {
	from := at
	for at < len(b) && isDigit(b[at]) {
		at++
	}
	if at == from {
		return -1
	}
	return at
}

func skipNumber(b []byte, at int) int {
	if b[at] == '-' {
		at++
	}
	first := at
	if at = skipDigits(b, at); at < 0 || b[first] == '0' && at > first+1 {
		return -1
	}
	if at < len(b) && b[at] == '.' {
		if at = skipDigits(b, at+1); at < 0 {
			return -1
		}
	}
	if at < len(b) && b[at]|0x20 == 'e' {
		if at++; at < len(b) && (b[at] == '+' || b[at] == '-') {
			at++
		}
		return skipDigits(b, at)
	}
	return at
}
