// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"reflect"
	"testing"
)

// podType is in the order in which the fields of a ChaosPod are written here.
type podType struct {
	Spec struct {
		NextStop string `json:"nextStop"`
		Schedule string `json:"schedule"`
		Last     string `json:"last"`
	} `json:"spec"`
}

func pods() []Kind {
	of := reflect.TypeFor[podType]()
	return []Kind{{Group: "chaos.fairlead.dev", Kind: "ChaosPod", Types: map[string]reflect.Type{"v1": of, "v1alpha1": of}}}
}

func newConversion(t *testing.T, o Options) *Conversion {
	t.Helper()
	o.Kinds = pods()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
