// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package roundtrip

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/api/common"
)

// sized measures what the object says of itself.
type sized struct{}

func (sized) RestoreBytes(raw []byte, _ string) (int, error) {
	var object struct {
		Size int `json:"size"`
	}
	err := json.Unmarshal(raw, &object)
	return object.Size, err
}

func TestAnObjectThatCouldNotBeReadAtItsOtherVersionIsRefused(t *testing.T) {
	object := func(size int) any {
		return map[string]any{"size": size, "ballast": strings.Repeat("y", smallObject)}
	}
	const limit = common.MaxRestoreBytes
	annotated := func(size int, name, value string) any {
		return map[string]any{"size": size, "ballast": strings.Repeat("y", smallObject), "metadata": map[string]any{"annotations": map[string]string{name: value}}}
	}
	beside := func(size, others int) any { return annotated(size, "x/y", strings.Repeat("o", others)) }
	dropped := func() any { return annotated(0, common.V1Alpha1DataAnnotation, `{"dropped":70000}`) }
	with := func(object any, name, value string) any {
		object.(map[string]any)["metadata"].(map[string]any)[name] = value
		return object
	}
	for name, test := range map[string]struct {
		obj, old any
		fine     bool
		written  string
	}{
		"at the limit":                         {object(limit), nil, true, hub},
		"above":                                {object(limit + 1), nil, false, hub},
		"above, and it was before":             {object(limit + 5), object(limit + 5), true, hub},
		"above, but it shrinks":                {object(limit + 5), object(limit + 9), true, hub},
		"above, and it grows":                  {object(limit + 9), object(limit + 5), false, hub},
		"above, and it was not":                {object(limit + 1), object(limit), false, hub},
		"carries one that is large":            {map[string]any{"metadata": map[string]any{"annotations": map[string]string{common.V1Alpha1DataAnnotation: strings.Repeat("z", limit+1)}}}, nil, false, hub},
		"does not fit beside others":           {beside(40<<10, 230<<10), nil, false, hub},
		"fits beside others":                   {beside(40<<10, 200<<10), nil, true, hub},
		"others, and nothing to restore":       {beside(0, 255<<10), nil, true, hub},
		"others grow":                          {beside(40<<10, 230<<10), beside(40<<10, 200<<10), false, hub},
		"did not fit before, and shrinks":      {beside(40<<10, 230<<10), beside(40<<10, 231<<10), true, hub},
		"did not fit before, and is deleted":   {with(beside(40<<10, 232<<10), "deletionTimestamp", "2026-01-01T00:00:00Z"), beside(40<<10, 231<<10), true, hub},
		"dropped when it was converted":        {dropped(), nil, false, spoke},
		"dropped, and written where it is not": {dropped(), dropped(), true, hub},
		"small objects are not even measured":  {map[string]any{"size": "no number"}, nil, true, hub},
	} {
		t.Run(name, func(t *testing.T) {
			errs := restorable(sized{}, spoke, test.written, test.obj, test.old)
			if (len(errs) == 0) != test.fine {
				t.Errorf("errors %v", errs)
			}
			if !test.fine && !strings.Contains(errs.ToAggregate().Error(), "metadata.annotations") {
				t.Errorf("%v does not name the annotation", errs)
			}
		})
	}
}
