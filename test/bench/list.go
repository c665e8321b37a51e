// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
)

// ListPrefix is the prefix of the names of all figures about LIST.
const ListPrefix = "list/"

// ListOptions of RunLists.
type ListOptions struct {
	// Root of the checkout, where the programs of the control plane are; required.
	Root string
	// Sizes are the numbers of ExternalServices to list, in ascending order. Defaults to 1,000 and 10,000.
	Sizes []int
	// Rounds is how many times each side lists them. Defaults to 3.
	Rounds int
	// Limit bounds the whole measurement. Defaults to 20 minutes.
	Limit time.Duration
	// Output receives the progress. Defaults to nil: nothing is written.
	Output io.Writer
}

// Listed has the durations of the first LIST after a change of the CRD, when no cache is warm.
type Listed struct {
	Size int
	// Ours and Stock are the durations at v1alpha1, with the handler of either side. Echo is that with a handler that
	// only changes the version. Plain is at v1, the stored version. All are in milliseconds.
	Ours, Stock, Echo, Plain Summary
	// Calls is the highest number of conversion requests to Fairlead's handler in one LIST.
	Calls int64
}

// RunLists starts a control plane, and measures requests through a real API server: CREATE and UPDATE, and LIST of
// objects that are stored at v1.
func RunLists(ctx context.Context, o ListOptions) (results []Listed, written []Written, err error) {
	if len(o.Sizes) == 0 {
		o.Sizes = []int{1000, 10_000}
	}
	if o.Rounds <= 0 {
		o.Rounds = 3
	}
	if o.Limit <= 0 {
		o.Limit = 20 * time.Minute
	}
	if o.Output == nil {
		o.Output = io.Discard
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Limit, fmt.Errorf("the lists took longer than %s", o.Limit))
	defer cancel()
	shelf, err := openShelf(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, shelf.close()) }()
	if written, err = shelf.write(ctx, o); err != nil {
		return nil, nil, err
	}
	if err := shelf.admitBy(ctx, sidePlain); err != nil {
		return nil, nil, err
	}
	if err := shelf.send(ctx, http.MethodDelete, objects("v1"), "", nil, io.Discard); err != nil {
		return nil, nil, err
	}
	for _, size := range o.Sizes {
		if err := shelf.fill(ctx, size); err != nil {
			return nil, nil, err
		}
		listed, err := shelf.measure(ctx, size, o)
		if err != nil {
			return nil, nil, fmt.Errorf("list of %d: %w", size, err)
		}
		results = append(results, listed)
	}
	return results, written, nil
}

// measure lists with each side in turn. The CRD must change between two sides, since it names the handler.
func (s *shelf) measure(ctx context.Context, size int, o ListOptions) (Listed, error) {
	listed := Listed{Size: size}
	times := map[string][]float64{}
	for round := range o.Rounds {
		for _, side := range []string{sideFairlead, sideStock, sideEmpty, sidePlain} {
			took, calls, err := s.list(ctx, side, size)
			if err != nil {
				return listed, fmt.Errorf("%s: %w", side, err)
			}
			_, _ = fmt.Fprintf(o.Output, "list of %d, round %d of %d, %s: %s, %d conversions\n", size, round+1, o.Rounds, side, took.Round(time.Millisecond), calls)
			times[side] = append(times[side], float64(took.Microseconds())/1e3)
			if side == sideFairlead {
				listed.Calls = max(listed.Calls, calls)
			}
		}
	}
	listed.Ours, listed.Stock = summarize(times[sideFairlead]), summarize(times[sideStock])
	listed.Echo, listed.Plain = summarize(times[sideEmpty]), summarize(times[sidePlain])
	return listed, nil
}

// Entries are the figures for bench.json.
func (l Listed) Entries() []Entry {
	return []Entry{
		{
			Name: fmt.Sprintf("%sv1alpha1/%d", ListPrefix, l.Size), Unit: "ms",
			Value: rounded(l.Ours.Median, 1), Peer: rounded(l.Stock.Median, 1), Ratio: rounded(quotient(l.Stock.Median, l.Ours.Median), 2),
		},
		{Name: fmt.Sprintf("%secho/%d", ListPrefix, l.Size), Unit: "ms", Value: rounded(l.Echo.Median, 1)},
		{Name: fmt.Sprintf("%sv1/%d", ListPrefix, l.Size), Unit: "ms", Value: rounded(l.Plain.Median, 1)},
	}
}

// WriteLists writes the results for a reader.
func WriteLists(w io.Writer, results []Listed) error {
	var out strings.Builder
	out.WriteString("The first LIST after a change of the CRD, through a real API server, in ms:\n\n")
	out.WriteString("objects\tv1, as stored\tv1alpha1, fairlead\t+-\tv1alpha1, stock\t+-\tratio\techo\tover echo\tconversions\t\n")
	for _, l := range results {
		fmt.Fprintf(&out, "%d\t%.0f\t%.0f\t%.0f%%\t%.0f\t%.0f%%\t%.2fx\t%.0f\t%.2fx\t%d\t\n", l.Size, l.Plain.Median,
			l.Ours.Median, l.Ours.Spread()*50, l.Stock.Median, l.Stock.Spread()*50, quotient(l.Stock.Median, l.Ours.Median), l.Echo.Median, quotient(l.Ours.Median, l.Echo.Median), l.Calls)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := io.WriteString(t, out.String()); err != nil {
		return err
	}
	return t.Flush()
}
