// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The media types of responses: metadata is all that it takes to know that an object can be converted,
// since the API server converts the whole of it first.
const (
	namesOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	listOnly  = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

const (
	// requestTimeout bounds a request.
	requestTimeout = time.Minute
	// maxResponse bounds what is read of one object, in bytes: etcd takes 1.5 MiB, CRDs included.
	maxResponse = 16 << 20
)

// get reads one object.
func (c *Cluster) get(ctx context.Context, path, accept string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request := c.client.Get().AbsPath(path).MaxRetries(1)
	if accept != "" {
		request = request.SetHeader("Accept", accept)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxResponse+1))
	if err == nil && len(raw) > maxResponse {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxResponse)
	}
	return raw, errors.Join(err, body.Close())
}

// listing is a LIST, page by page.
type listing struct {
	path, accept string
	timeout      time.Duration // of a page
	retries      int
}

// list calls item for every item as it arrives, so that only one is in memory.
func (c *Cluster) list(ctx context.Context, l listing, item func(raw []byte) error) error {
	next := ""
	for {
		more, err := c.page(ctx, l, next, item)
		if expired := freshToken(err); expired != "" && expired != next {
			// What follows is of a later moment, which does not matter here.
			next = expired
			continue
		}
		if err != nil || more == "" {
			return err
		}
		next = more
	}
}

// freshToken returns how to go on after a token has expired; "" where it has not.
func freshToken(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

func (c *Cluster) page(ctx context.Context, l listing, next string, item func(raw []byte) error) (more string, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	request := c.client.Get().AbsPath(l.path).Param("limit", strconv.Itoa(c.options.PageSize)).MaxRetries(l.retries)
	if next != "" {
		request = request.Param("continue", next)
	}
	if l.accept != "" {
		request = request.SetHeader("Accept", l.accept)
	}
	body, err := request.Stream(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return "", fmt.Errorf("no answer within %v", l.timeout)
	}
	if err != nil {
		return "", err
	}
	more, err = items(body, item)
	return more, errors.Join(err, body.Close())
}

// items reads a list.
func items(body io.Reader, item func(raw []byte) error) (more string, err error) {
	decoder := jsontext.NewDecoder(body)
	if _, err := decoder.ReadToken(); err != nil {
		return "", err
	}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return "", err
		}
		switch name.String() {
		case "items":
			err = elements(decoder, item)
		case "metadata":
			more, err = continuation(decoder)
		default:
			err = decoder.SkipValue()
		}
		if err != nil {
			return "", err
		}
	}
	return more, nil
}

func elements(decoder *jsontext.Decoder, item func(raw []byte) error) error {
	if decoder.PeekKind() != '[' {
		return decoder.SkipValue() // null, as an empty list may be
	}
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	for decoder.PeekKind() != ']' {
		raw, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		if err := item(raw); err != nil {
			return err
		}
	}
	_, err := decoder.ReadToken()
	return err
}

func continuation(decoder *jsontext.Decoder) (string, error) {
	raw, err := decoder.ReadValue()
	if err != nil {
		return "", err
	}
	var metadata struct {
		Continue string `json:"continue"`
	}
	err = json.Unmarshal(raw, &metadata)
	return metadata.Continue, err
}
