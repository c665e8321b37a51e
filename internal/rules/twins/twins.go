// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package twins

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/config/admissionpolicy"
	"github.com/fairlead-dev/fairlead/config/crd"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/rules"
	"github.com/fairlead-dev/fairlead/internal/rules/specimen"
)

// Options name what is compared.
type Options[T any] struct {
	// Group and Resource name the definition. Required.
	Group, Resource string
	// Structural is the twin in Go. Required.
	Structural func(obj, old *T) field.ErrorList
	// Good are objects that break no rule. Required.
	Good []map[string]any
	// Values are those of specimen.Options.
	Values map[string][]any
}

// Judges are the three.
type Judges[T any] struct {
	options    Options[T]
	definition *crdschema.Kind
	policy     *admissionpolicy.Judge
	breeder    *specimen.Breeder
}

// New prepares the judges of a kind.
func New[T any](o Options[T]) (*Judges[T], error) {
	text, err := crd.Definition(o.Group, o.Resource)
	if err != nil {
		return nil, err
	}
	j := &Judges[T]{options: o}
	if j.definition, err = crdschema.Parse(text); err != nil {
		return nil, err
	}
	kinds, err := admissionpolicy.Kinds()
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		if kind.Group != o.Group || kind.Resource != o.Resource {
			continue
		}
		policies, err := admissionpolicy.Policies(kind)
		if err != nil {
			return nil, err
		}
		if j.policy, err = admissionpolicy.NewJudge(kind, policies[0].Policy); err != nil {
			return nil, err
		}
	}
	schema, err := schemaOf(text)
	if err != nil {
		return nil, err
	}
	j.breeder = specimen.New(specimen.Options{Schema: schema, Good: o.Good, Values: o.Values})
	return j, nil
}

// schemaOf is the schema of v1 as data.
func schemaOf(definition []byte) (map[string]any, error) {
	raw, err := yaml.YAMLToJSON(definition)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, err
	}
	spec, _ := tree["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		outer, _ := version["schema"].(map[string]any)
		if schema, ok := outer["openAPIV3Schema"].(map[string]any); ok && version["name"] == "v1" {
			return schema, nil
		}
	}
	return nil, fmt.Errorf("the definition has no v1")
}

// Verdict is what came of one comparison.
type Verdict struct {
	// Skipped says that the object does not fit the Go type, so that it is not judged.
	Skipped bool
	// Update says that the object was changed, and Forgiving that what stood was invalid.
	Update, Forgiving bool
	// Accepted is the definition's word, or Go's where it is forgiving.
	Accepted bool
	// Differ is "" where all say the same, and otherwise who says what of which object.
	Differ string
}

// Compare makes an object of choices and has it judged; the policy is slow, and may be left out.
func (j *Judges[T]) Compare(ctx context.Context, c *specimen.Choices, withPolicy bool) Verdict {
	shape := c.Of(10)
	before := j.breeder.Object(c)
	if shape < 6 {
		return j.judge(ctx, before, nil, withPolicy)
	}
	if shape < 9 {
		return j.judge(ctx, j.breeder.Change(c, before), before, withPolicy)
	}
	return j.judge(ctx, j.breeder.Object(c), before, withPolicy)
}

func (j *Judges[T]) judge(ctx context.Context, object, before map[string]any, withPolicy bool) Verdict {
	obj, tree, ok := j.read(object)
	if !ok {
		return Verdict{Skipped: true}
	}
	var v Verdict
	var old *T
	var stored map[string]any
	if before != nil {
		named(object, before)
		if obj, tree, ok = j.read(object); !ok {
			return Verdict{Skipped: true}
		}
		if old, stored, ok = j.read(before); !ok {
			return Verdict{Skipped: true}
		}
		v.Update = true
		v.Forgiving = len(j.definition.Validate(ctx, "v1", j.defaulted(stored), nil)) > 0
	}
	inGo := j.options.Structural(obj, old)
	var inDefinition field.ErrorList
	if v.Forgiving {
		inGo = rules.Ratchet(inGo, j.options.Structural(old, nil))
		v.Accepted = len(inGo) == 0
	} else {
		inDefinition = j.definition.Validate(ctx, "v1", j.defaulted(tree), j.defaulted(stored))
		v.Accepted = len(inDefinition) == 0
		if (len(inGo) == 0) != v.Accepted {
			v.Differ = fmt.Sprintf("the definition says %v\nGo says %v\nof %s\nthat was %s", inDefinition, inGo, text(tree), text(stored))
			return v
		}
	}
	if !withPolicy {
		return v
	}
	refusals := j.policy.Judge(ctx, admissionpolicy.Request{Object: tree, Old: stored, Version: "v1alpha1", User: "ann"})
	if same := stored != nil && text(tree["spec"]) == text(stored["spec"]); same {
		return v // no policy looks
	}
	if refused := len(refusals) > 0; v.Accepted && refused || !v.Forgiving && !v.Accepted && !refused {
		v.Differ = fmt.Sprintf("the definition says %v\nGo says %v\nthe policy says %v\nof %s\nthat was %s", inDefinition, inGo, refusals, text(tree), text(stored))
	}
	return v
}

// named gives an object the name of what it was, which cannot change.
func named(object, before map[string]any) {
	mine, _ := object["metadata"].(map[string]any)
	was, _ := before["metadata"].(map[string]any)
	mine["name"] = was["name"]
}

// read takes an object as admission does: what the Go type does not hold is not there, and an empty
// value may be as good as none.
func (j *Judges[T]) read(object map[string]any) (*T, map[string]any, bool) {
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

// defaulted is what the API server judges at v1: it takes null for absent, and fills in the schema's
// defaults. An absent object stays absent.
func (j *Judges[T]) defaulted(tree map[string]any) map[string]any {
	if tree == nil {
		return nil
	}
	filled := runtime.DeepCopyJSON(tree)
	withoutNulls(filled)
	j.definition.Default("v1", filled)
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
