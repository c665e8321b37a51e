// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"fmt"

	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// Convert returns the object at another version of its kind, given as a bare version such as
// "v1". An object already there comes back as it is. It fails only where raw is no JSON object,
// or where either version is not one of the pair's: nothing that an API server sends.
func (c *Converter) Convert(raw []byte, toVersion string) ([]byte, error) {
	document := jsonindex.NewDocument()
	defer document.Release()
	object, err := document.Read(raw)
	if err != nil {
		converted, err := c.thorough(raw, toVersion) // which says what is wrong, or takes it all the same
		return converted.Object, err
	}
	converted, err := c.AppendConverted(nil, object, toVersion)
	return converted.Object, err
}

// Converted is an object at another version.
type Converted struct {
	Object []byte
	// Saved is the size of the restore annotation that it needed, in bytes; 0 for none.
	Saved int
	// Dropped says that something of the source found no room in that annotation.
	Dropped bool
}

// AppendConverted is Convert for what has been read as JSON. It appends its answer to out.
func (c *Converter) AppendConverted(out []byte, object jsonindex.Value, toVersion string) (Converted, error) {
	if converted, ok := c.quick(out, object, toVersion); ok {
		return converted, nil
	}
	converted, err := c.thorough(object.Bytes(), toVersion)
	converted.Object = append(out, converted.Object...)
	return converted, err
}

// thorough converts any object, through trees.
func (c *Converter) thorough(raw []byte, toVersion string) (Converted, error) {
	object, err := parseObject(raw)
	if err != nil {
		return Converted{}, err
	}
	convert, err := c.route(object.apiVersion(), toVersion)
	if err != nil {
		return Converted{}, err
	}
	if convert == nil {
		return Converted{Object: raw}, nil
	}
	r := convert(source{body: object.body, annotations: object.annotations()})
	converted := Converted{Object: object.render(c.apiVersions[toVersion], r), Dropped: Dropped(r.value) > 0 || r.wanted > len(r.value)}
	if !converted.Dropped {
		converted.Saved = len(r.value)
	}
	return converted, nil
}

// RestoreBytes returns how large the restore annotation would be that the spec of an object needs
// at another version, in bytes, whether or not it fits; 0 where nothing would be lost. The status
// does not count: it is the operator's own, and left out first.
func (c *Converter) RestoreBytes(raw []byte, toVersion string) (int, error) {
	object, err := parseObject(raw)
	if err != nil {
		return 0, err
	}
	convert, err := c.route(object.apiVersion(), toVersion)
	if err != nil || convert == nil {
		return 0, err
	}
	return convert(source{body: object.body.without([]string{"status"}), annotations: object.annotations()}).wanted, nil
}

// route returns the way between two versions, or nil where they are one.
func (c *Converter) route(from, toVersion string) (func(source) result, error) {
	target, known := c.apiVersions[toVersion]
	if !known {
		return nil, fmt.Errorf("cannot convert to version %q: served versions are %s and %s", toVersion, c.hub, c.spoke)
	}
	switch {
	case !c.serves(from):
		return nil, fmt.Errorf("cannot convert from apiVersion %q: served versions are %s and %s",
			from, c.apiVersions[c.hub], c.apiVersions[c.spoke])
	case from == target:
		return nil, nil
	case toVersion == c.hub:
		return c.toHub, nil
	}
	return c.toSpoke, nil
}

func (c *Converter) serves(apiVersion string) bool {
	for _, served := range c.apiVersions {
		if served == apiVersion {
			return true
		}
	}
	return false
}
