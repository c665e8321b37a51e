// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

// errDone ends a search that has found all it may name, or has found that it is about no object.
var errDone = errors.New("enough")

// object names one.
type object struct{ namespace, name string }

// byName asks for every object by its name, after a LIST of a version has failed, and names those that
// cannot be read. Those that can are handed over where take is given.
func (r *run) byName(ctx context.Context, version string, failed error, take func(raw []byte) error) error {
	s := &search{run: r, version: version, take: take}
	if isWebhookDown(failed) {
		s.webhook = failed
	} else if err := s.readAll(ctx); err != nil {
		return fmt.Errorf("LIST at %s fails (%s), and so do the names of its objects: %w", version, brief(failed), err)
	}
	switch {
	case s.webhook != nil:
		r.finding(vet.Error, fmt.Sprintf("no object can be read at %s, as the conversion webhook does not answer: %s", version, brief(s.webhook)))
	case len(s.unreadable) > 0:
		r.finding(vet.Error, fmt.Sprintf("LIST at %s fails for all clients until the objects that cannot be read at it are fixed: %s", version, brief(failed)))
	default:
		r.finding(vet.Warning, fmt.Sprintf("LIST at %s fails, though every object can be read by its name: %s", version, brief(failed)))
	}
	if s.incomplete {
		r.finding(vet.Error, fmt.Sprintf("more than %d objects cannot be read at %s; the others were not asked for", r.options.MaxUnreadable, version))
	}
	slices.SortFunc(s.unreadable, func(a, b vet.Object) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	r.unread = append(r.unread, s.unreadable...)
	return nil
}

func (r *run) finding(severity vet.Severity, message string) {
	r.findings = append(r.findings, vet.Finding{Severity: severity, Rule: vet.RuleConversion, Message: message})
}

// search asks for objects by name.
type search struct {
	*run
	version string
	take    func(raw []byte) error

	mu         sync.Mutex // protects the fields below
	unreadable []vet.Object
	incomplete bool
	webhook    error // that it does not answer
}

// readAll takes the names from the first version at which they can be listed, at metadata alone.
func (s *search) readAll(ctx context.Context) error {
	var last error
	for _, version := range s.served {
		if version == s.version {
			continue
		}
		asking := make(chan object)
		var group sync.WaitGroup
		for range readers {
			group.Go(func() {
				for o := range asking {
					s.read(ctx, o)
				}
			})
		}
		all := listing{path: s.path(version, s.options.Namespace, ""), accept: listOnly, timeout: s.options.ConvertTimeout}
		last = s.list(ctx, all, func(raw []byte) error {
			var item struct {
				Metadata struct{ Namespace, Name string }
			}
			if err := json.Unmarshal(raw, &item); err != nil {
				return err
			}
			if s.isDone() {
				return errDone
			}
			asking <- object{item.Metadata.Namespace, item.Metadata.Name}
			return nil
		})
		close(asking)
		group.Wait()
		if last == nil || errors.Is(last, errDone) || ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if last == nil {
		last = errors.New("no other version is served")
	}
	return last
}

func (s *search) isDone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incomplete = s.incomplete || len(s.unreadable) >= s.options.MaxUnreadable
	return s.incomplete || s.webhook != nil
}

func (s *search) read(ctx context.Context, o object) {
	accept := namesOnly
	if s.take != nil {
		accept = ""
	}
	raw, err := s.get(ctx, s.path(s.version, o.namespace, o.name), accept)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case apierrors.IsNotFound(err), ctx.Err() != nil: // it was deleted in the meantime
	case err == nil && s.take != nil:
		if err := s.take(raw); err != nil {
			s.incomplete = true
		}
	case err == nil:
	case isWebhookDown(err):
		s.webhook = err
	default:
		s.unreadable = append(s.unreadable, s.unreadableObject(o, err))
	}
}

// unreadableObject names an object that cannot be read, and what to do.
func (s *search) unreadableObject(o object, err error) vet.Object {
	resource := s.Plural + "." + s.storage + "." + s.Group
	remedy := fmt.Sprintf("correct it with `kubectl edit %s -n %s %s`, or delete it", resource, o.namespace, o.name)
	if s.version == s.storage {
		remedy = fmt.Sprintf("write it again at a version at which it can be read, or delete it with `kubectl delete %s -n %s %s`", resource, o.namespace, o.name)
	}
	return vet.Object{
		APIVersion: s.Group + "/" + s.version, Kind: s.Kind.Kind, Namespace: o.namespace, Name: o.name,
		Findings: []vet.Finding{{Severity: vet.Error, Rule: vet.RuleConversion,
			Message: fmt.Sprintf("cannot be read at %s, and no LIST there succeeds until it can: %s; %s", s.version, brief(err), remedy)}},
	}
}

// isWebhookDown reports whether the conversion webhook does not respond, for whatever object: the API server names
// its URL then (k8s.io/apiextensions-apiserver, pkg/apiserver/conversion).
func isWebhookDown(err error) bool {
	return err != nil && strings.Contains(err.Error(), "conversion webhook for") && strings.Contains(err.Error(), `failed: Post "`)
}

// brief is the text of an error, on one line and bounded.
func brief(err error) string {
	const most = 500
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
