// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

func TestOnlySoManyLargeBodiesAreReadAtOnce(t *testing.T) {
	places := make(chan struct{}, 1)
	body := func(ctx context.Context, size int) *turnedBody {
		return &turnedBody{ReadCloser: io.NopCloser(bytes.NewReader(make([]byte, size))), ctx: ctx, places: places}
	}
	first := body(context.Background(), 3*smallBody)
	if n, err := io.Copy(io.Discard, first); n != 3*smallBody || err != nil {
		t.Fatalf("the first large body: %d bytes, %v", n, err)
	}
	small := body(context.Background(), smallBody-1)
	if n, err := io.Copy(io.Discard, small); n != smallBody-1 || err != nil {
		t.Fatalf("a small body beside it: %d bytes, %v", n, err)
	}

	left := errors.New("the caller left")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(left)
	second := body(ctx, 3*smallBody)
	if n, err := io.Copy(io.Discard, second); n != smallBody || !errors.Is(err, left) {
		t.Fatalf("a second large body: %d bytes, %v; it must stop at %d", n, err, smallBody)
	}
	second.release()
	if len(places) != 1 {
		t.Fatal("a body that never had a place gave one back")
	}

	first.release()
	third := body(context.Background(), 3*smallBody)
	if n, err := io.Copy(io.Discard, third); n != 3*smallBody || err != nil {
		t.Fatalf("after the first was released: %d bytes, %v", n, err)
	}
}
