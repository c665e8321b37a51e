// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"regexp"
	"strings"
)

// hidden replaces a credential.
const hidden = "xxxxx"

var (
	// userInfo is the user and password of a URL, as in postgres://user:password@host. A password that is not encoded may
	// have each character but a space and a quote, so that the last @ counts.
	userInfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s"]*@`)
	// userInfoInQuotes is such a one in quotes, where the password may have spaces, and quotes that are escaped.
	userInfoInQuotes = regexp.MustCompile(`("(?:[^"\\\n]|\\.)*?://)(?:[^"\\\n]|\\.)*@`)
	// dataSource is the user and password of a data source name, as in user:password@tcp(host:3306)/db, in quotes with spaces.
	dataSource = regexp.MustCompile(`"[^\s"/:@\\]+:(?:[^"\\\n]|\\.)*@(?:sha\d+:)?|[^\s"/:@]+:[^\s"]*@(?:sha\d+:)?`)
	// password is one of a list of keys and values, as in host=db password='a b'.
	password = regexp.MustCompile(`(?i)\b((?:password|passwd|passphrase|pwd|pass)\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s"]+)`)
)

// WithoutCredentials leaves out of a message what is the user and password of a URL, of a data source name or of a list of keys and
// values: what a user has typed or written is repeated in logs that others read.
func WithoutCredentials(message string) string {
	message = userInfoInQuotes.ReplaceAllString(message, "${1}"+hidden+"@")
	message = userInfo.ReplaceAllString(message, "${1}"+hidden+"@")
	message = dataSource.ReplaceAllStringFunc(message, func(found string) string {
		if strings.HasSuffix(found, ":") || strings.Contains(found, "://") { // the digest of an image, or a URL
			return found
		}
		return strings.Repeat(`"`, strings.Count(found[:1], `"`)) + hidden + "@"
	})
	return password.ReplaceAllString(message, "${1}"+hidden)
}
