// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import "github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"

// Quick and Thorough are the two ways, for the tests that hold the kinds to them, and what
// makes two answers the same.
var (
	Fast       = (*Converter).fastBytes
	Total      = (*Converter).totalBytes
	Normalized = normalized
)

// fastBytes is fast for bytes, which may be no JSON.
func (c *Converter) fastBytes(raw []byte, toVersion string) ([]byte, bool) {
	document := jsonindex.NewDocument()
	defer document.Release()
	object, err := document.Read(raw)
	if err != nil {
		return nil, false
	}
	converted, ok := c.fast(nil, object, toVersion)
	return converted.Object, ok
}

func (c *Converter) totalBytes(raw []byte, toVersion string) ([]byte, error) {
	converted, err := c.total(raw, toVersion)
	return converted.Object, err
}
