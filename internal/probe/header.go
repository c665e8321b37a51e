// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import "strings"

// Header is a line of a request.
type Header struct{ Name, Value string }

// Sendable says whether the line can stand in a probe's request as one header among others. What is
// of one connection or of the message's end is refused, since a second request could hide there; and
// so are the host, which is HTTP.Host, and the name by which the other side knows who asks.
func (h Header) Sendable() bool {
	if h.Name == "" || strings.ContainsFunc(h.Name, unlikeToken) || strings.ContainsFunc(h.Value, control) {
		return false
	}
	name := strings.ToLower(h.Name)
	switch name {
	case "host", "user-agent", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
		"content-length", "expect", "http2-settings":
		return false
	}
	return !strings.HasPrefix(name, "proxy-")
}

// unlikeToken tells what a header's name must not hold (RFC 9110, section 5.6.2).
func unlikeToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// control tells what a header's value must not hold (RFC 9110, section 5.5).
func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func allSendable(headers []Header) bool {
	for _, h := range headers {
		if !h.Sendable() {
			return false
		}
	}
	return true
}

// headerLines are the headers as they are sent. Anything is accepted unless one of them says what is.
func headerLines(headers []Header) string {
	var b strings.Builder
	accepts := false
	for _, h := range headers {
		b.WriteString(h.Name + ": " + h.Value + "\r\n")
		accepts = accepts || strings.EqualFold(h.Name, "Accept")
	}
	if !accepts {
		b.WriteString("Accept: */*\r\n")
	}
	return b.String()
}
