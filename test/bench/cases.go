// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// Case is one request, and the two handlers that are measured with it.
type Case struct {
	// Name is a path such as conversion/v1alpha1-v1/2KB.
	Name string
	// Object is the size of the object in the request, in bytes. For an update it is that of the new object.
	Object int
	// Note describes a difference between the two responses that is no error.
	Note string

	ours, stock *call
}

// Cases creates every case, and sends each request to both handlers once. It returns an error if a handler fails, or if
// the responses differ.
func Cases() ([]Case, error) {
	var (
		b   builder
		err error
	)
	b.ours = fairlead()
	if b.stock, err = stock(); err != nil {
		return nil, err
	}
	for _, add := range []func() error{b.conversions, b.mutations, b.validations} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	return b.cases, nil
}

type builder struct {
	ours, stock side
	cases       []Case
}

// conversions adds conversions of objects as a cluster has them, with a status.
func (b *builder) conversions() error {
	for _, from := range []string{v1alpha1.GroupVersion.Version, v1.GroupVersion.Version} {
		for _, class := range []string{"2KB", "4KB"} {
			obj, err := load(from + "." + class)
			if err != nil {
				return err
			}
			if err := b.convert(class, stored(obj)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) convert(name string, obj *unstructured.Unstructured) error {
	from, to := v1.GroupVersion, v1alpha1.GroupVersion
	if obj.GetAPIVersion() != from.String() {
		from, to = to, from
	}
	name = fmt.Sprintf("conversion/%s-%s/%s", from.Version, to.Version, name)
	return b.add(Case{Name: name, Object: size(obj)}, converting, conversionReview(encode(obj.Object), to.String()),
		func(c *Case) (string, error) { return b.checkConversion(c, obj) })
}

// mutations adds a creation without defaults, an update with a new endpoint without defaults, and an update that sets
// no default.
func (b *builder) mutations() error {
	manifest, err := load("manifest")
	if err != nil {
		return err
	}
	obj := admitted(manifest)
	if err := b.mutate("admission/mutate/create", obj, nil); err != nil {
		return err
	}
	old, changed, err := update()
	if err != nil {
		return err
	}
	if err := b.mutate("admission/mutate/update", changed, old); err != nil {
		return err
	}
	return b.mutate("admission/mutate/nothing", old, old)
}

func (b *builder) mutate(name string, obj, old *unstructured.Unstructured) error {
	return b.add(Case{Name: name, Object: size(obj)}, mutating, admissionReview(obj, old),
		func(c *Case) (string, error) { return c.checkMutation(obj) })
}

// validations adds valid objects, as nearly all are that reach validation.
func (b *builder) validations() error {
	manifest, err := load("manifest")
	if err != nil {
		return err
	}
	created, err := defaulted(stored(manifest))
	if err != nil {
		return err
	}
	if err := b.validate("admission/validate/create", created, nil); err != nil {
		return err
	}
	old, changed, err := update()
	if err != nil {
		return err
	}
	if changed, err = defaulted(changed); err != nil {
		return err
	}
	return b.validate("admission/validate/update", changed, old)
}

func (b *builder) validate(name string, obj, old *unstructured.Unstructured) error {
	return b.add(Case{Name: name, Object: size(obj)}, validating, admissionReview(obj, old),
		func(c *Case) (string, error) { return b.checkValidation(c, obj, old) })
}

// add appends a case if check accepts its responses. check returns the note.
func (b *builder) add(c Case, handler func(side) http.Handler, body []byte, check func(*Case) (string, error)) (err error) {
	c.ours, c.stock = newCall(handler(b.ours), body), newCall(handler(b.stock), body)
	if c.Note, err = check(&c); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	b.cases = append(b.cases, c)
	return nil
}

func converting(s side) http.Handler { return s.convert }
func mutating(s side) http.Handler   { return s.mutate }
func validating(s side) http.Handler { return s.validate }

func size(obj *unstructured.Unstructured) int { return len(encode(obj.Object)) }

// update returns a stored object, and a copy with one more endpoint.
func update() (old, changed *unstructured.Unstructured, err error) {
	obj, err := load("v1.4KB")
	if err != nil {
		return nil, nil, err
	}
	old = stored(obj)
	changed, err = edited(old)
	return old, changed, err
}

// defaulted returns the object with the defaults of the mutating webhook.
func defaulted(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	full, err := typed[v1.ExternalService](obj)
	if err != nil {
		return nil, err
	}
	rules.Default(full)
	out := &unstructured.Unstructured{}
	return out, out.UnmarshalJSON(encode(full))
}
