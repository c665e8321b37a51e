// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Member of an object; Value is a part of what was split.
type Member struct {
	Name  string
	Value []byte
}

// Members splits a JSON object, in the order in which it stands there.
func Members(object []byte) ([]Member, error) {
	var members []Member
	err := split(object, jsontext.KindBeginObject, func(r *Reader) error {
		token, err := r.decoder.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		value, err := r.whole()
		members = append(members, Member{name, value})
		return err
	})
	return members, err
}

// Items splits a JSON list; the items are parts of it.
func Items(list []byte) ([][]byte, error) {
	var items [][]byte
	err := split(list, jsontext.KindBeginArray, func(r *Reader) error {
		value, err := r.whole()
		items = append(items, value)
		return err
	})
	return items, err
}

func split(value []byte, kind jsontext.Kind, next func(*Reader) error) error {
	r := reader()
	defer readers.Put(r)
	r.body, r.source = value, *bytes.NewBuffer(value)
	defer func() { r.body, r.source = nil, bytes.Buffer{} }()
	r.decoder.Reset(&r.source, jsontext.AllowDuplicateNames(true))
	token, err := r.decoder.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != kind {
		return fmt.Errorf("%s where %s was expected", token.Kind(), kind)
	}
	for {
		switch r.decoder.PeekKind() {
		case jsontext.KindEndObject, jsontext.KindEndArray:
			_, err := r.decoder.ReadToken()
			return err
		}
		if err := next(r); err != nil {
			return err
		}
	}
}
