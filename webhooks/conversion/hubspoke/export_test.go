// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import "github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"

// Quick and Thorough are the two ways, for the tests that hold the kinds to them, and what
// makes two answers the same.
var (
	Quick    = (*Converter).quickly
	Thorough = (*Converter).thoroughly
	Meaning  = meaning
)

// quickly is quick for bytes, which may be no JSON.
func (c *Converter) quickly(raw []byte, toVersion string) ([]byte, bool) {
	document := jsonindex.NewDocument()
	defer document.Release()
	object, err := document.Read(raw)
	if err != nil {
		return nil, false
	}
	converted, ok := c.quick(nil, object, toVersion)
	return converted.Object, ok
}

func (c *Converter) thoroughly(raw []byte, toVersion string) ([]byte, error) {
	converted, err := c.thorough(raw, toVersion)
	return converted.Object, err
}
