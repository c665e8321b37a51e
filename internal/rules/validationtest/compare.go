// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package validationtest

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// Options name what is compared.
type Options[T any] struct {
	// Group and Resource name the CRD. Required.
	Group, Resource string
	// Structural repeats the CRD's rules in Go. Required.
	Structural func(obj, old *T) field.ErrorList
	// Good are objects that break no rule. Required.
	Good []map[string]any
	// Values are those of MutatorOptions.
	Values map[string][]any
}

// Comparison compares the two for objects of a kind.
type Comparison[T any] struct {
	options    Options[T]
	definition *crdschema.Kind
	mutator    *Mutator
}

// NewComparison prepares the comparison of a kind.
func NewComparison[T any](t testing.TB, o Options[T]) *Comparison[T] {
	t.Helper()
	c := &Comparison[T]{options: o, definition: Definition(t, o.Group, o.Resource)}
	c.mutator = NewMutator(MutatorOptions{Schema: Schema(t, o.Group, o.Resource, "v1"), Good: o.Good, Values: o.Values})
	return c
}

// Result is the result of one comparison.
type Result struct {
	// Skipped means that the object does not fit the Go type, so that it was not validated.
	Skipped bool
	// Update means that the object was changed, and Forgiving that the old one was invalid.
	Update, Forgiving bool
	// Accepted means that the CRD accepts it, or Go where it is forgiving.
	Accepted bool
	// Difference is "" where both agree, and otherwise what each says of which object.
	Difference string
}

// Compare makes an object of choices and validates it.
func (c *Comparison[T]) Compare(ctx context.Context, choices *Choices) Result {
	shape := choices.Of(10)
	before := c.mutator.Object(choices)
	if shape < 6 {
		return c.validate(ctx, before, nil)
	}
	if shape < 9 {
		return c.validate(ctx, c.mutator.Mutate(choices, before), before)
	}
	return c.validate(ctx, c.mutator.Object(choices), before)
}

func (c *Comparison[T]) validate(ctx context.Context, object, before map[string]any) Result {
	obj, tree, ok := c.read(object)
	if !ok {
		return Result{Skipped: true}
	}
	var result Result
	var old *T
	var stored map[string]any
	if before != nil {
		keepName(object, before)
		if obj, tree, ok = c.read(object); !ok {
			return Result{Skipped: true}
		}
		if old, stored, ok = c.read(before); !ok {
			return Result{Skipped: true}
		}
		result.Update = true
		result.Forgiving = len(c.definition.Validate(ctx, "v1", c.defaulted(stored), nil)) > 0
	}
	inGo := c.options.Structural(obj, old)
	if result.Forgiving {
		result.Accepted = len(rules.Ratchet(inGo, c.options.Structural(old, nil))) == 0
		return result
	}
	inDefinition := c.definition.Validate(ctx, "v1", c.defaulted(tree), c.defaulted(stored))
	result.Accepted = len(inDefinition) == 0
	if (len(inGo) == 0) != result.Accepted {
		result.Difference = fmt.Sprintf("the CRD says %v\nGo says %v\nof %s\nthat was %s", inDefinition, inGo, text(tree), text(stored))
	}
	return result
}

// keepName gives an object the name of what it was, which cannot change.
func keepName(object, before map[string]any) {
	mine, _ := object["metadata"].(map[string]any)
	was, _ := before["metadata"].(map[string]any)
	mine["name"] = was["name"]
}

// read takes an object as admission does: what the Go type does not hold is not there, and an empty
// value may be as good as none.
func (c *Comparison[T]) read(object map[string]any) (*T, map[string]any, bool) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, nil, false
	}
	first, typed, tree := new(T), new(T), map[string]any{}
	if json.Unmarshal(raw, first) != nil {
		return nil, nil, false
	}
	if raw, err = json.Marshal(first); err != nil || json.Unmarshal(raw, typed) != nil || json.Unmarshal(raw, &tree) != nil {
		return nil, nil, false
	}
	return typed, tree, true
}

// defaulted is what the API server validates at v1: it takes null for absent, and fills in the schema's
// defaults. An absent object stays absent.
func (c *Comparison[T]) defaulted(tree map[string]any) map[string]any {
	if tree == nil {
		return nil
	}
	filled := runtime.DeepCopyJSON(tree)
	withoutNulls(filled)
	c.definition.Default("v1", filled)
	return filled
}

func withoutNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if inner == nil {
				delete(value, key)
			}
			withoutNulls(inner)
		}
	case []any:
		for _, inner := range value {
			withoutNulls(inner)
		}
	}
}

func text(tree any) string {
	raw, err := json.Marshal(tree)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
