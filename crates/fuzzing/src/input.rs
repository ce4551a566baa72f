//! Takes an input apart: numbers that choose what to do, and hostile bytes.

/// The rest of an input. What is missing at its end counts as zeroes.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    /// The whole input.
    pub fn new(data: &'a [u8]) -> Self {
        Input { rest: data }
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// The next two bytes as a number.
    pub fn number(&mut self) -> usize {
        u16::from_be_bytes(self.array()).into()
    }

    /// The next three bytes as a number.
    pub fn long(&mut self) -> usize {
        let [high, middle, low] = self.array();
        u32::from_be_bytes([0, high, middle, low]) as usize
    }

    /// As many bytes as the next two say.
    pub fn part(&mut self) -> &'a [u8] {
        let length = self.number();
        self.bytes(length)
    }

    /// At most `length` bytes.
    pub fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (bytes, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        bytes
    }

    /// All other bytes.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// Whether there are no more bytes.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn array<const LENGTH: usize>(&mut self) -> [u8; LENGTH] {
        let mut array = [0; LENGTH];
        let bytes = self.bytes(LENGTH);
        array[..bytes.len()].copy_from_slice(bytes);
        array
    }
}

/// Writes what [`Input`] reads, for seeds.
#[derive(Clone, Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
}

impl Output {
    /// Adds bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.bytes.extend_from_slice(bytes.as_ref());
        self
    }

    /// Adds a number of two bytes.
    ///
    /// # Panics
    /// It is too large.
    #[must_use]
    pub fn number(self, number: usize) -> Self {
        self.bytes(u16::try_from(number).expect("a number of two bytes").to_be_bytes())
    }

    /// Adds a number of three bytes.
    ///
    /// # Panics
    /// It is too large.
    #[must_use]
    pub fn long(self, number: usize) -> Self {
        assert!(number < 1 << 24);
        self.bytes(&(number as u32).to_be_bytes()[1..])
    }

    /// Adds bytes and, before them, their number.
    #[must_use]
    pub fn part(self, part: &[u8]) -> Self {
        self.number(part.len()).bytes(part)
    }

    /// The input.
    pub fn done(self) -> Vec<u8> {
        self.bytes
    }
}
