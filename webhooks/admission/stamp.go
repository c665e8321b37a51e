// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// annotate writes the way to annotations with these values as operations on raw, an object; an empty
// value stands for an annotation that is not there.
func (p *patch) annotate(raw wire.Value, values map[string]string) {
	p.enter("metadata")
	p.enter("annotations")
	defer p.leave(0)
	there := raw.Field("metadata").Field("annotations")
	missing := there.Kind() != '{'
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, given := values[name], there.Field(name)
		was, _ := given.Text()
		if value == was && (value != "" || !given.Exists()) {
			continue
		}
		if value != "" && missing {
			// Adding to a map that is not there is an error, and so is to add it twice.
			p.begin("add")
			p.written = append(p.written, `,"value":{}}`...)
			missing = false
		}
		at := len(p.path)
		p.enter(name)
		if value == "" {
			p.begin("remove")
		} else {
			p.begin("add")
			p.written = wire.Quote(append(p.written, `,"value":`...), value)
		}
		p.written = append(p.written, '}')
		p.leave(at)
	}
}
