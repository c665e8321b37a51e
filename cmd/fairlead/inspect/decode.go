// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bufio"
	"io"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readSize is how many bytes of a response are read at once: after each read HTTP/2 sends the API server a window update.
const readSize = 128 << 10

// decoding is how objects are decoded. The managed fields, which may be half of an object, are skipped, and times are read
// without the detour by encoding/json that their type takes.
var decoding = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(
		jsonv2.UnmarshalFromFunc(func(document *jsontext.Decoder, _ *[]metav1.ManagedFieldsEntry) error { return document.SkipValue() }),
		jsonv2.UnmarshalFromFunc(decodeTime),
	)))

// decode reads a list while it arrives.
func decode(response io.Reader, list any) error {
	return jsonv2.UnmarshalRead(bufio.NewReaderSize(response, readSize), list, decoding)
}

func decodeTime(document *jsontext.Decoder, into *metav1.Time) error {
	token, err := document.ReadToken()
	if err != nil || token.Kind() == jsontext.KindNull {
		return err
	}
	parsed, err := time.Parse(time.RFC3339, token.String())
	into.Time = parsed.Local()
	return err
}
