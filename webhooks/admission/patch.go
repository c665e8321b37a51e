// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead-dev/fairlead/webhooks/internal/wire"
)

// operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// diff writes the way from before to after, which are two states of one typed object in the same
// encoding, as operations on raw, the document it was read from. Raw may hold members that the
// type does not know and lack ones that it always writes; no operation touches either. Diff fails
// where the change would take something away.
//
// It looks into what differs only, and compares the rest as bytes.
func diff(raw, before, after []byte) ([]operation, error) {
	var p patch
	err := p.value("", raw, before, after)
	return p.operations, err
}

type patch struct{ operations []operation }

// value compares at a path where raw has something.
func (p *patch) value(path string, raw, before, after []byte) error {
	switch {
	case bytes.Equal(before, after):
		return nil
	case begins(raw, '{') && begins(after, '{') && (begins(before, '{') || missing(before)):
		return p.object(path, raw, before, after)
	case begins(raw, '[') && begins(after, '[') && begins(before, '['):
		return p.list(path, raw, before, after)
	}
	value, err := fresh(before, after)
	p.operations = append(p.operations, operation{"replace", path, value})
	return err
}

func (p *patch) object(path string, raw, before, after []byte) error {
	there, _, err := members(raw)
	if err != nil {
		return err
	}
	was, names, err := members(before)
	if err != nil {
		return err
	}
	now, order, err := members(after)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, kept := now[name]; !kept && !missing(there[name]) {
			return fmt.Errorf("it removed %s", at(path, name))
		}
	}
	for _, name := range order {
		here := at(path, name)
		if bytes.Equal(was[name], now[name]) {
			continue
		}
		if given, exists := there[name]; exists {
			if err := p.value(here, given, was[name], now[name]); err != nil {
				return err
			}
			continue
		}
		value, err := fresh(was[name], now[name])
		if err != nil {
			return err
		}
		p.operations = append(p.operations, operation{"add", here, value})
	}
	return nil
}

func (p *patch) list(path string, raw, before, after []byte) error {
	there, err := wire.Items(raw)
	if err != nil {
		return err
	}
	was, err := wire.Items(before)
	if err != nil {
		return err
	}
	now, err := wire.Items(after)
	if err != nil {
		return err
	}
	if len(now) < len(was) || len(there) != len(was) {
		return fmt.Errorf("it shortened %s from %d items to %d", path, len(there), len(now))
	}
	for i, item := range now {
		if i >= len(was) {
			p.operations = append(p.operations, operation{"add", path + "/-", item})
			continue
		}
		if err := p.value(at(path, strconv.Itoa(i)), there[i], was[i], item); err != nil {
			return err
		}
	}
	return nil
}

// fresh is what after has beyond before, for a place where the user wrote nothing: a typed object
// writes zero values that nobody set, and those stay out.
func fresh(before, after []byte) ([]byte, error) {
	if !begins(before, '{') || !begins(after, '{') {
		return after, nil
	}
	was, _, err := members(before)
	if err != nil {
		return nil, err
	}
	now, order, err := members(after)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for _, name := range order {
		if bytes.Equal(was[name], now[name]) {
			continue
		}
		value, err := fresh(was[name], now[name])
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// members answers an object's members, and their names in order; none for what is missing.
func members(object []byte) (byName map[string][]byte, order []string, err error) {
	if missing(object) {
		return nil, nil, nil
	}
	list, err := wire.Members(object)
	if err != nil {
		return nil, nil, err
	}
	byName = make(map[string][]byte, len(list))
	order = make([]string, len(list))
	for i, member := range list {
		byName[member.Name], order[i] = member.Value, member.Name
	}
	return byName, order, nil
}

func begins(value []byte, with byte) bool { return len(value) > 0 && value[0] == with }

func missing(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

func at(path, name string) string { return path + "/" + escaper.Replace(name) }
