// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"errors"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// object is one of the input.
type object struct {
	*manifest.Node
	schema.GroupVersionKind
	namespace, name string
	place           Place
}

// key names an object, at whatever version it is written.
type key struct {
	schema.GroupKind
	namespace, name string
}

func (o *object) key() key { return key{o.GroupKind(), o.namespace, o.name} }

func (k key) String() string {
	if k.namespace == "" {
		return k.Kind + " " + k.name
	}
	return k.Kind + " " + k.namespace + "/" + k.name
}

// input holds the objects that were read.
type input struct {
	objects map[schema.GroupKind][]*object
	byKey   map[key]*object
	// untyped are documents, and items of lists, that are no objects of Kubernetes.
	untyped []*object
	// counts of the documents with content, and of the objects.
	documents, count int
	remarks          []Remark
}

func newInput() *input {
	return &input{objects: map[schema.GroupKind][]*object{}, byKey: map[key]*object{}}
}

// read reads a file, or what a cluster has, which has no positions.
func (in *input) read(name string, content io.Reader, live bool) error {
	place := Place{File: name}
	for splitter := manifest.NewSplitter(content, files.DefaultMaxBytes); ; {
		part, err := splitter.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if part.Empty() {
			continue
		}
		in.documents++
		if !live {
			place.Document++
		}
		for _, reading := range manifest.Read(part) {
			if p := reading.Err; p != nil {
				in.unreadable(place.at(p.Position), part, p)
				continue
			}
			reading.Root.Objects(func(n *manifest.Node, gvk schema.GroupVersionKind) { in.add(n, gvk, place) })
		}
	}
}

func (in *input) unreadable(at Place, part manifest.Part, p *manifest.Problem) {
	message := p.Message + "; correct it, since nothing of this document was migrated"
	if bytes.Contains(part.Text, []byte("{{")) {
		message = "looks like a Helm template: give what `helm template` prints instead"
	}
	in.remarks = append(in.remarks, Remark{Effect: Refused, Place: at, Object: "document", Text: message})
}

func (p Place) at(position manifest.Position) Place {
	if p.Document > 0 {
		p.Line, p.Column = position.Line, position.Column
	}
	return p
}

// add adds an object.
func (in *input) add(n *manifest.Node, gvk schema.GroupVersionKind, place Place) {
	o := &object{Node: n, GroupVersionKind: gvk, place: place.at(n.Position)}
	in.count++
	if gvk.Kind == "" {
		in.untyped = append(in.untyped, o)
		return
	}
	metadata := n.Get("metadata")
	o.namespace, o.name = metadata.Text("namespace"), metadata.Text("name")
	if first := in.byKey[o.key()]; first != nil {
		if !reflect.DeepEqual(first.Exact(), o.Exact()) {
			in.remarks = append(in.remarks, Remark{Effect: Refused, Place: o.place, Object: o.key().String(),
				Text: "is given twice, with other content, and the first was taken; give one of them, such as the build of a kustomization"})
		}
		return
	}
	in.byKey[o.key()] = o
	in.objects[o.GroupKind()] = append(in.objects[o.GroupKind()], o)
}

// get returns an object by its name; nil where there is none.
func (in *input) get(kind schema.GroupKind, namespace, name string) *object {
	return in.byKey[key{kind, namespace, name}]
}
