// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"encoding/json"
	"reflect"

	"github.com/fairlead-dev/fairlead/api/common"
)

// settings adds what of a spec is not as in usual, which has the defaults alone.
func (p *digestParts) settings(spec, usual any) {
	if rest := nonDefault(asMap(spec), asMap(usual)); len(rest) > 0 {
		p.add("settings", rest)
	}
}

// calendar adds windows and blackouts without their names, which have no effect.
func (p *digestParts) calendar(c *common.Calendar) {
	for _, w := range c.Windows {
		w.Name = ""
		p.add("window", w)
	}
	for _, w := range c.Blackouts {
		w.Name = ""
		p.add("blackout", w)
	}
}

// verificationProbes moves verification.probes here, without their names, which have no effect.
func (p *digestParts) verificationProbes(v *common.Verification) {
	for _, probe := range v.Probes {
		probe.Name = ""
		p.add("verificationProbe", probe)
	}
	v.Probes = nil
}

// asMap is a value as JSON has it.
func asMap(value any) map[string]any {
	var out map[string]any
	if raw, err := json.Marshal(value); err != nil || json.Unmarshal(raw, &out) != nil {
		return map[string]any{"unreadable": true}
	}
	return out
}

// nonDefault returns the members of a value that differ from the defaults, so that a setting that a later version adds
// does not change the digest of an object that does not use it.
func nonDefault(value, usual map[string]any) map[string]any {
	out := map[string]any{}
	for key, member := range value {
		inner, isMap := member.(map[string]any)
		if normal, has := usual[key].(map[string]any); isMap && has {
			if inner = nonDefault(inner, normal); len(inner) > 0 {
				out[key] = inner
			}
			continue
		}
		if !reflect.DeepEqual(member, usual[key]) {
			out[key] = member
		}
	}
	return out
}
