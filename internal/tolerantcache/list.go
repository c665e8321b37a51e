// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerantcache

import (
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	kjson "sigs.k8s.io/json"
)

// A start lists each kind. To send 20,000 objects takes the API server half of the processor time as a list of what it
// takes as events of a watch, and client-go holds a list three times while it decodes it: as it was sent, as objects,
// and as it is kept. Here each object is decoded and transformed while the next ones arrive.

// readList decodes a list of the kind from a response. An object that does not decode is decoded as far as possible.
func (n *tolerantSerializer) readList(response io.Reader, transform cache.TransformFunc) (*internalversion.List, error) {
	list := &internalversion.List{}
	var header metav1.TypeMeta
	document := jsontext.NewDecoder(response, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	err := readMembers(document, '{', func() error {
		name, err := document.ReadToken()
		if err != nil {
			return err
		}
		var into any
		switch name.String() {
		case "apiVersion":
			into = &header.APIVersion
		case "kind":
			into = &header.Kind
		case "metadata":
			into = &list.ListMeta
		case "items":
			if document.PeekKind() == 'n' {
				return document.SkipValue()
			}
			list.Items = nil // as of two members of one name the last is taken
			return readMembers(document, '[', func() error { return n.readItem(document, transform, list) })
		default:
			return document.SkipValue()
		}
		value, err := document.ReadValue()
		if err != nil {
			return err
		}
		return kjson.UnmarshalCaseSensitivePreserveInts(value, into)
	})
	if of := header.GroupVersionKind(); err == nil && of != n.kind.GroupVersion().WithKind(n.kind.Kind+"List") {
		err = fmt.Errorf("the API server sent a %s", of)
	}
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", n.kind.Kind, err)
	}
	return list, nil
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

func (n *tolerantSerializer) readItem(document *jsontext.Decoder, transform cache.TransformFunc, list *internalversion.List) error {
	raw, err := document.ReadValue()
	if err != nil {
		return err
	}
	object := n.object(raw)
	if object == nil {
		if object, err = n.item(raw); err != nil {
			return err
		}
	}
	kept, err := transform(object)
	if err != nil {
		return err
	}
	object, ok := kept.(runtime.Object)
	if !ok {
		return fmt.Errorf("the transformation returned a %T, which is no object", kept)
	}
	list.Items = append(list.Items, object)
	return nil
}
