// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// Options of a migration.
type Options struct {
	// NameSuffix is added to the names of ExternalServices, so that they are made beside the Services that they
	// replace. Defaults to none.
	NameSuffix string
	// Ports are those of Services that name none, as Services of type ExternalName need not. Defaults to none: such a
	// Service is refused.
	Ports []networkingv1.ServicePort
	// Namespaces are those of a ClusterRebootPolicy. Defaults to all.
	Namespaces []string
	// Pace of restarts. Defaults to PaceReloader.
	Pace Pace
}

// Kind is one that a peer is read from.
type Kind struct {
	schema.GroupKind
	// Version and Plural name it in the URL of an API server.
	Version, Plural string
	// Optional kinds tell more about objects of the others: where they cannot be read, the plan says so.
	Optional bool
}

// Peer is another project, or a form of Service, to move from.
type Peer struct {
	// Name on the command line.
	Name string
	// Title describes the peer in a phrase, and Into is the kind of the migrated objects.
	Title, Into string
	// Reads are its kinds in a cluster.
	Reads []Kind
	// Follows returns the objects that those of a cluster refer to. They are then read one by one: ConfigMaps, and the metadata
	// of Secrets.
	Follows func(in *input) []key
	// Flags are the options that it has on the command line, such as name-suffix.
	Flags []string
	// Differences are those of all objects, and Steps what to do with the output.
	Differences, Steps []string
	translate          func(r *run)
	// PerWorkload writes an object for each workload instead; nil where it always does, or never.
	PerWorkload *Peer
}

// run is one migration.
type run struct {
	options Options
	*input
	made     []*made
	subjects []*subject
}

// made is an object that was written.
type made struct {
	key      key
	object   runtime.Object
	from     []string
	subjects []*subject
	// covered are lines that name the workloads that the object is for; none for an object of one workload.
	covered []string
	remarks []Remark
	text    []byte
	// comments are by the path of a field below specPath, where the object has the pace of restarts; none where it has none.
	specPath string
	comments map[string]string
}

// subject begins the translation of an object.
func (r *run) subject(o *object) *subject {
	s := newSubject(o)
	r.subjects = append(r.subjects, s)
	return s
}

// emit writes an object of v1, unless one of those that it is made from is refused.
func (r *run) emit(object runtime.Object, from ...*subject) {
	m := &made{object: object, subjects: from, comments: maps.Clone(r.options.profile().comments)}
	switch o := object.(type) {
	case *networkingv1.ExternalService:
		o.TypeMeta = metav1.TypeMeta{APIVersion: networkingv1.GroupVersion.String(), Kind: "ExternalService"}
		m.key = key{networkingv1.GroupVersion.WithKind(o.Kind).GroupKind(), o.Namespace, o.Name}
	case *autorebootv1.RebootPolicy:
		o.TypeMeta = metav1.TypeMeta{APIVersion: autorebootv1.GroupVersion.String(), Kind: "RebootPolicy"}
		m.key, m.specPath = key{autorebootv1.GroupVersion.WithKind(o.Kind).GroupKind(), o.Namespace, o.Name}, "spec"
	case *autorebootv1.ClusterRebootPolicy:
		o.TypeMeta = metav1.TypeMeta{APIVersion: autorebootv1.GroupVersion.String(), Kind: "ClusterRebootPolicy"}
		m.key, m.specPath = key{autorebootv1.GroupVersion.WithKind(o.Kind).GroupKind(), "", o.Name}, rules.TemplatePath
	}
	for _, s := range from {
		if label := s.label(); !slices.Contains(m.from, label) {
			m.from = append(m.from, label)
		}
	}
	slices.Sort(m.from)
	r.made = append(r.made, m)
}

// Result of a migration.
type Result struct {
	peer        *Peer
	differences []string
	// Documents with content that were read, and Objects in them.
	Documents, Objects int
	made               []*made
	// Remarks are about objects of the input; those of the output are in its comments too.
	Remarks []Remark
}

// Has reports whether something has one of the effects.
func (r *Result) Has(effects ...Effect) bool {
	return slices.ContainsFunc(r.Remarks, func(m Remark) bool { return slices.Contains(effects, m.Effect) })
}

// Run reads a source and translates what it has of the peer. The error is of the source, or of the context.
func (p *Peer) Run(ctx context.Context, o Options, source Source) (*Result, error) {
	in, err := source.read(ctx, p)
	if err != nil {
		return nil, err
	}
	r := &run{options: o, input: in}
	p.translate(r)
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	out := &Result{peer: p, differences: p.Differences, Documents: in.documents, Objects: in.count, Remarks: in.remarks}
	if slices.ContainsFunc(r.made, func(m *made) bool { return m.specPath != "" }) {
		out.differences = append([]string{o.profile().difference}, p.Differences...)
	}
	for _, s := range r.subjects {
		out.Remarks = append(out.Remarks, s.remarks...)
	}
	for _, m := range r.made {
		m.remarks = slices.Clone(m.remarks)
		for _, s := range m.subjects {
			m.remarks = append(m.remarks, s.remarks...)
		}
		slices.SortFunc(m.remarks, compareRemarks)
		m.remarks = slices.CompactFunc(m.remarks, func(a, b Remark) bool { return compareRemarks(a, b) == 0 })
		r.compare(m, out)
	}
	out.made = r.made
	slices.SortFunc(out.Remarks, compareRemarks)
	return out, nil
}

// check drops objects that are refused, that have the name of another one, or that vet would refuse.
func (r *run) check(ctx context.Context) error {
	slices.SortStableFunc(r.made, func(a, b *made) int {
		return cmp.Or(cmp.Compare(a.key.Kind, b.key.Kind), cmp.Compare(a.key.namespace, b.key.namespace), cmp.Compare(a.key.name, b.key.name),
			slices.Compare(a.from, b.from))
	})
	var kept []*made
	var all bytes.Buffer
	for _, m := range r.made {
		if slices.ContainsFunc(m.subjects, func(s *subject) bool { return s.refused }) {
			continue
		}
		if n := len(kept); n > 0 && kept[n-1].key == m.key {
			m.refuse("would become a second %s, beside that of %s; rename one of the two", m.key, strings.Join(kept[n-1].from, ", "))
			continue
		}
		var err error
		if m.text, err = render(m.object); err != nil {
			return fmt.Errorf("%s: %w", m.key, err)
		}
		if m.specPath != "" {
			m.text = withComments(m.text, m.specPath, m.comments)
		}
		fmt.Fprintf(&all, "---\n%s", m.text)
		kept = append(kept, m)
	}
	r.made = kept
	if len(kept) == 0 {
		return ctx.Err()
	}
	visit := func(visit files.Visit) error { return visit("", &all) }
	checks := vet.New(vet.Options{}) //nolint:contextcheck // schemas are parsed without one
	_, err := checks.Run(ctx, visit, func(o vet.Object) error {
		m := kept[o.Document-1]
		for _, f := range o.Findings {
			text := f.Message
			if f.Field != "" {
				text = f.Field + ": " + text
			}
			if f.Severity == vet.Error {
				m.refuse("would become %s, which vet rejects: %s", m.key, text)
			} else {
				m.remarks = append(m.remarks, Remark{Effect: Differs, Object: m.key.String(), Text: "vet warns: " + text})
			}
		}
		return nil
	})
	r.made = slices.DeleteFunc(r.made, func(m *made) bool {
		return slices.ContainsFunc(m.subjects, func(s *subject) bool { return s.refused })
	})
	return err
}

// refuse drops the object, and all others that are made from the same.
func (m *made) refuse(format string, values ...any) {
	for _, s := range m.subjects[:1] {
		s.say(Refused, format, values...)
	}
}

// compare notes where the input has another version of an object: a user's own, or one of an earlier run.
func (r *run) compare(m *made, out *Result) {
	have := r.byKey[m.key]
	if have == nil {
		return
	}
	parts, err := manifest.Split(m.text)
	if err != nil || len(parts) == 0 {
		return
	}
	for _, now := range manifest.Read(parts[0]) {
		if now.Root != nil && !reflect.DeepEqual(now.Root.Get("spec").Exact(), have.Get("spec").Exact()) {
			out.Remarks = append(out.Remarks, Remark{Effect: Differs, Place: have.place, Object: m.key.String(),
				Text: "is in the input with another spec: compare the two before you apply this one"})
		}
	}
}

// render returns an object as YAML, in the order of its type.
func render(object runtime.Object) ([]byte, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	node, err := manifest.ParseJSON(raw)
	if err != nil {
		return nil, err
	}
	node.Remove("status")
	// The type has kind first, and readers expect apiVersion.
	if i := slices.IndexFunc(node.Members, func(m manifest.Member) bool { return m.Key == "apiVersion" }); i > 0 {
		m := node.Members[i]
		node.Members = slices.Insert(slices.Delete(node.Members, i, i+1), 0, m)
	}
	return node.YAML()
}
