// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	kjson "sigs.k8s.io/json"
)

// A start lists each kind. To send 20,000 objects takes the API server half of the processor time as a list of what it
// takes as events of a watch, and client-go holds a list three times while it decodes it: as it was sent, as objects,
// and as it is kept. Here each object is decoded and transformed while the next ones arrive, without what is unread.

// readSize is how many bytes of a response are read at once: after each read HTTP/2 sends the API server a window update.
const readSize = 128 << 10

// listReader decodes a list of one kind.
type listReader struct {
	*tolerantSerializer
	transform cache.TransformFunc
	passes    func(namespace string) bool // nil for all
	document  *jsontext.Decoder
	list      internalversion.List
	header    metav1.TypeMeta
	buffer    []byte // of one object
}

// readList decodes a list of the kind from a response, except for objects of namespaces that do not pass. An object that
// does not decode is decoded as far as possible.
func (t *tolerantSerializer) readList(
	response io.Reader, transform cache.TransformFunc, passes func(namespace string) bool,
) (*internalversion.List, error) {
	r := &listReader{
		tolerantSerializer: t, transform: transform, passes: passes,
		document: jsontext.NewDecoder(bufio.NewReaderSize(response, readSize), jsontext.AllowDuplicateNames(true),
			jsontext.AllowInvalidUTF8(true)),
	}
	err := readMembers(r.document, '{', r.readMember)
	if of := r.header.GroupVersionKind(); err == nil && of != t.kind.GroupVersion().WithKind(t.kind.Kind+"List") {
		err = fmt.Errorf("the API server sent a %s", of)
	}
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", t.kind.Kind, err)
	}
	return &r.list, nil
}

// readMembers calls read until an object or a list ends.
func readMembers(document *jsontext.Decoder, begin jsontext.Kind, read func() error) error {
	if found := document.PeekKind(); found != begin && found != 0 { // an error is returned by what reads it
		return fmt.Errorf("a %s where %s should begin", found, begin)
	}
	if _, err := document.ReadToken(); err != nil {
		return err
	}
	for {
		switch document.PeekKind() {
		case '}', ']':
			_, err := document.ReadToken()
			return err
		}
		if err := read(); err != nil {
			return err
		}
	}
}

func (r *listReader) readMember() error {
	name, err := r.document.ReadToken()
	if err != nil {
		return err
	}
	var into any
	switch name.String() {
	case "apiVersion":
		into = &r.header.APIVersion
	case "kind":
		into = &r.header.Kind
	case "metadata":
		into = &r.list.ListMeta
	case "items":
		if r.document.PeekKind() == 'n' {
			return r.document.SkipValue()
		}
		r.list.Items = nil // as of two members of one name the last is taken
		return readMembers(r.document, '[', r.readItem)
	default:
		return r.document.SkipValue()
	}
	value, err := r.document.ReadValue()
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(value, into)
}

func (r *listReader) readItem() (err error) {
	if r.buffer, err = appendWithout(r.buffer[:0], r.document, unread); err != nil {
		return err
	}
	if r.passes != nil && !r.passes(namespaceOf(r.buffer)) {
		return nil
	}
	object := r.object(r.buffer)
	if object == nil {
		if object, err = r.item(r.buffer); err != nil {
			return err
		}
	}
	if metadata, err := meta.Accessor(object); err == nil {
		metadata.SetManagedFields(unreadManagedFields)
	}
	kept, err := r.transform(object)
	if err != nil {
		return err
	}
	object, ok := kept.(runtime.Object)
	if !ok {
		return fmt.Errorf("the transformation returned a %T, which is no object", kept)
	}
	r.list.Items = append(r.list.Items, object)
	return nil
}

// namespaceOf returns the namespace of an object; "" where it has none or cannot be read.
func namespaceOf(object []byte) string {
	var read struct {
		Metadata struct {
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if jsonv2.Unmarshal(object, &read) != nil {
		return ""
	}
	return read.Metadata.Namespace
}

// members of an object by their names as they are in JSON; nil for one that is left out.
type members map[string]members

// unread lists the members of an object's metadata that no controller reads. They are more than half of an object's size.
var unread = members{`"metadata"`: {
	`"managedFields"`: nil,
	`"annotations"`:   {strconv.Quote(corev1.LastAppliedConfigAnnotation): nil},
}}

// unreadManagedFields is the placeholder for managedFields that were left out, until the object is transformed.
var unreadManagedFields = []metav1.ManagedFieldsEntry{{}}

// appendWithout appends the next value of a document, less the members that are left out.
func appendWithout(to []byte, document *jsontext.Decoder, less members) ([]byte, error) {
	if less == nil || document.PeekKind() != '{' {
		value, err := document.ReadValue()
		return append(to, value...), err
	}
	to = append(to, '{')
	err := readMembers(document, '{', func() error {
		name, err := document.ReadValue()
		if err != nil {
			return err
		}
		within, found := less[string(name)]
		if found && within == nil {
			return document.SkipValue()
		}
		if to[len(to)-1] != '{' {
			to = append(to, ',')
		}
		to = append(append(to, name...), ':')
		to, err = appendWithout(to, document, within)
		return err
	})
	return append(to, '}'), err
}
