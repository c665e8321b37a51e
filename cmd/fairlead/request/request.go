// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// fieldManager is who writes the annotation.
	fieldManager = "fairlead-cli"
	// requestTimeout bounds a request, and rewatchInterval is how long is waited after a watch has ended.
	requestTimeout  = 30 * time.Second
	rewatchInterval = time.Second
	// maxWords bounds what the API server says, in bytes.
	maxWords = 800
)

// Refusal is why a request was not made, or has not led to what was requested.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Request is one of an object.
type Request struct {
	Key inspect.Key
	// Annotation carries the request, and Token is its value.
	Annotation string
	Token      common.Token
	// DryRun is none by default.
	DryRun DryRun
	// Say is called with what is done and how far it has come, a sentence without its full stop each.
	Say func(string)

	verb verb
	// edit returns the change of an object, and edited says it, for a verb that adds no annotation.
	edit   func(object client.Object) []operation
	edited string
	before client.Object
	after  client.Object
}

// DryRun is what is done without storing the request.
type DryRun string

// Dry runs. With client the request is not submitted; with server it is, and is not persisted.
const (
	DryRunNone   DryRun = "none"
	DryRunClient DryRun = "client"
	DryRunServer DryRun = "server"
)

// operation is one of a JSON patch.
type operation struct {
	Operation string `json:"op"`
	Path      string `json:"path"`
	Value     any    `json:"value,omitempty"`
}

// New returns a request by the name of its verb, with a new token. The error names the objects that have the verb.
func New(name string, key inspect.Key, now time.Time) (*Request, error) {
	v, has := verbs[name][key.Kind]
	if !has {
		return nil, fmt.Errorf("%s has no %s: name one as %s", key.Kind, name, strings.Join(Kinds(name), " or "))
	}
	r := &Request{Key: key, Annotation: inspect.Annotation(name, key.Kind), verb: v}
	if v.token == nil {
		r.Token = NewToken(now)
	}
	return r, nil
}

// NewToken returns a token that was not used before.
func NewToken(now time.Time) common.Token { return common.Token(now.UTC().Format(time.RFC3339Nano)) }

// Make makes the request. The error is a sentence; it is a Refusal where the object or the API server refuses it.
func (r *Request) Make(ctx context.Context, c client.WithWatch) (err error) {
	if r.before, err = inspect.Get(ctx, c, r.Key); err != nil {
		return err
	}
	if r.Token == "" && r.verb.token != nil {
		r.Token = r.verb.token(r.before)
	}
	what, err := r.verb.announce(r.before, r.Token)
	if err != nil {
		return Refusal(fmt.Sprintf("%s: %s", r.Key, err))
	}
	r.Say(fmt.Sprintf("%s: this %s", r.Key, what))
	change, err := r.change(r.before)
	if err != nil {
		return err
	}
	if r.DryRun == DryRunClient {
		if r.after, err = patched(r.before, change); err == nil {
			r.Say(fmt.Sprintf("%s: nothing was sent (client dry run)", r.Key))
		}
		return err
	}
	if err := r.review(ctx, c); err != nil {
		return err
	}
	options := []client.PatchOption{client.FieldOwner(fieldManager)}
	if r.DryRun == DryRunServer {
		options = append(options, client.DryRunAll)
	}
	object, is := r.before.DeepCopyObject().(client.Object)
	if !is {
		return fmt.Errorf("%s is no object", r.Key)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := c.Patch(ctx, object, change, options...); err != nil {
		return Refusal(fmt.Sprintf("%s: the API server rejects the request: %s", r.Key, text.Truncate(text.OneLine(err.Error()), maxWords)))
	}
	if r.after = object; r.DryRun == DryRunServer {
		r.Say(fmt.Sprintf("%s: the API server accepts the request, and nothing was persisted (server dry run)", r.Key))
		return nil
	}
	if r.edit != nil {
		r.Say(fmt.Sprintf("%s: %s", r.Key, r.edited))
	} else {
		r.Say(fmt.Sprintf("%s: requested by the annotation %s=%s", r.Key, r.Annotation, r.Token))
	}
	return nil
}

// change returns the patch of an object.
func (r *Request) change(object client.Object) (client.Patch, error) {
	if r.edit != nil {
		operations, err := json.Marshal(r.edit(object))
		return client.RawPatch(types.JSONPatchType, operations), err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{r.Annotation: r.Token}}})
	return client.RawPatch(types.MergePatchType, patch), err
}

// patched returns an object with a change.
func patched(object client.Object, change client.Patch) (client.Object, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	data, err := change.Data(object)
	if err != nil {
		return nil, err
	}
	if change.Type() == types.JSONPatchType {
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(data); err == nil {
			raw, err = operations.Apply(raw)
		}
	} else {
		raw, err = jsonpatch.MergePatch(raw, data)
	}
	if err != nil {
		return nil, err
	}
	after, is := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	if !is {
		return nil, fmt.Errorf("%T is no object", object)
	}
	return after, json.Unmarshal(raw, after)
}

// Object returns the object as it was last seen after the request, with its kind; nil where the request was not made.
func (r *Request) Object() client.Object {
	if r.after != nil {
		r.after.GetObjectKind().SetGroupVersionKind(inspect.GroupVersionKind(r.Key.Kind))
	}
	return r.after
}

// review asks whether the user may patch the object, and what else the verb takes.
func (r *Request) review(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := r.reviewVerb(ctx, c, "patch"); err != nil || r.verb.right == "" {
		return err
	}
	return r.reviewVerb(ctx, c, r.verb.right)
}

func (r *Request) reviewVerb(ctx context.Context, c client.Client, verb string) error {
	resource := inspect.Resource(r.Key.Kind)
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.Key.Namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource, Name: r.Key.Name,
		}}}
	switch err := c.Create(ctx, review); {
	case apierrors.IsForbidden(err): // the API server decides by the patch
		return nil
	case err != nil:
		return fmt.Errorf("check the permission to %s %s: %w", verb, r.Key, err)
	case !review.Status.Allowed:
		return Refusal(fmt.Sprintf("you have no permission to %s %s: grant %[1]s on %[3]s in namespace %[4]s", verb, r.Key, resource, r.Key.Namespace))
	}
	return nil
}

// Wait waits for the verdict of the request, until ctx ends. It follows the object by watches. The error is a Refusal where the
// verdict is not what was requested.
func (r *Request) Wait(ctx context.Context, c client.WithWatch) error {
	said := Verdict{}
	for {
		verdict, err := r.follow(ctx, c, &said)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w; so far: %s", r.Key, context.Cause(ctx), said.Text)
		case err != nil:
			return err
		case verdict.Failed:
			return Refusal(fmt.Sprintf("%s: %s", r.Key, verdict.Text))
		case verdict.Done:
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(rewatchInterval): // the watch has ended
		}
	}
}

// follow looks at the object, and at each change of it until there is a verdict or the watch ends.
func (r *Request) follow(ctx context.Context, c client.WithWatch, said *Verdict) (Verdict, error) {
	now, err := inspect.Get(ctx, c, r.Key)
	if err != nil {
		return Verdict{}, err
	}
	if r.look(now, said) {
		return *said, nil
	}
	changes, err := c.Watch(ctx, inspect.List(r.Key.Kind), &client.ListOptions{
		Namespace: r.Key.Namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", r.Key.Name),
		Raw: &metav1.ListOptions{ResourceVersion: now.GetResourceVersion()},
	})
	switch {
	case apierrors.IsForbidden(err):
		return Verdict{}, fmt.Errorf("%s: the request is made, and you have no permission to wait for its result: grant watch on %s in namespace %s",
			r.Key, inspect.Resource(r.Key.Kind), r.Key.Namespace)
	case err != nil:
		return Verdict{}, nil // the next Get returns the error where the API server cannot be reached
	}
	defer changes.Stop()
	for {
		select {
		case <-ctx.Done():
			return *said, nil
		case event := <-changes.ResultChan(): // the zero Event once the watch has ended
			if object, is := event.Object.(client.Object); !is || event.Type == watch.Deleted || r.look(object, said) {
				return *said, nil
			}
		}
	}
}

// look judges the object, says what is new, and reports whether there is a verdict.
func (r *Request) look(now client.Object, said *Verdict) bool {
	r.after = now
	verdict := r.verb.verdict(r.before, now, r.Token)
	if now.GetDeletionTimestamp() != nil || now.GetUID() != r.before.GetUID() {
		verdict = Verdict{true, true, "it was deleted meanwhile"}
	}
	if verdict.Text != said.Text && !verdict.Failed {
		r.Say(fmt.Sprintf("%s: %s", r.Key, verdict.Text))
	}
	*said = verdict
	return verdict.Done
}
